// The first thing that a newcomer sees: what this is, who answers, and what to try.

import { useState } from "react";
import { useLocation } from "wouter";

import { useBridge, useFirstWaiting, useMay, useWaiting } from "../../state/bridge";
import { openDialog } from "../../state/page";
import { resumeSession, startSession, titleOf } from "../../state/session-actions";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Icon, type IconName } from "../../ui/icon";
import { likeliestFolder } from "../sessions/folders";
import { Page } from "./page";
import "./welcome.css";

const words = strings.pages.welcome;
/** Only this one knows the tour. */
const TOUR = "built-in script";

export function Welcome() {
  const cli = useBridge((known) => known.cli);
  const waiting = useWaiting();
  const first = useFirstWaiting();
  const mayPrompt = useMay("prompt");
  const hello = useBridge((known) => known.hello);
  const [, go] = useLocation();
  return (
    <Page title={words.page}>
      <section className="welcome">
        <h2>{words.title}</h2>
        <p>{words.says}</p>
        {cli && (
          <p className="welcome-cli">
            <span className="soft">{words.answers}:</span> <strong>{words.cli(cli.kind, cli.version)}</strong> {cli.model && words.model(cli.model)}
          </p>
        )}
        {waiting > 0 && (
          <Button className="welcome-waiting" onClick={() => go(`/session/${first}`)}>
            ● {words.waiting(waiting)}
          </Button>
        )}
      </section>
      {mayPrompt ? <Tries /> : hello && <p className="soft">{words.lookOnly}</p>}
    </Page>
  );
}

function Tries() {
  const cli = useBridge((known) => known.cli);
  const folder = useBridge((known) => likeliestFolder(known.sessions, "", known.folders));
  const terminal = useBridge((known) => known.terminal.find((one) => !known.sessions.has(one.id)));
  const mayAdmin = useMay("admin");
  const [, go] = useLocation();
  const begin = (prompt: string) => async () => {
    const id = await startSession({ cwd: folder, prompt });
    if (id) go(`/session/${id}`);
  };
  const resume = async () => {
    const id = terminal && (await resumeSession(terminal.id));
    if (id) go(`/session/${id}`);
  };
  if (!cli) return null; // what there is to try depends on who answers
  const tour = cli.model.includes(TOUR);
  return (
    <section className="page-section" aria-label={words.try}>
      <h2>{words.try}</h2>
      <ul className="tries">
        {tour ? <Try icon="bolt" {...words.tour} main pick={begin(words.tourPrompt)} disabled={!folder} /> : <Try icon="book" {...words.look} main pick={begin(words.lookPrompt)} disabled={!folder} />}
        <Try icon="plus" {...words.own} pick={() => openDialog("new-session")} />
        {terminal ? (
          <Try icon="terminal" {...words.terminal} says={words.terminal.says(titleOf(terminal))} pick={resume} />
        ) : (
          mayAdmin && <Try icon="device" {...words.phone} pick={() => go("/devices")} />
        )}
      </ul>
    </section>
  );
}

interface TryProps {
  icon: IconName;
  title: string;
  says: string;
  button: string;
  main?: boolean;
  disabled?: boolean;
  pick(): unknown;
}

function Try({ icon, title, says, button, main = false, disabled = false, pick }: TryProps) {
  const [busy, setBusy] = useState(false);
  const press = async () => {
    setBusy(true);
    await pick();
    setBusy(false);
  };
  return (
    <li className="try">
      <h3>
        <Icon name={icon} />
        {title}
      </h3>
      <p className="small soft">{says}</p>
      <Button kind={main ? "main" : "plain"} disabled={disabled || busy} onClick={() => void press()}>
        {button}
      </Button>
    </li>
  );
}
