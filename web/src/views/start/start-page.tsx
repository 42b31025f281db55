// The first screen: a field to start a session, which model answers, and what to try.

import { useState } from "react";
import { useLocation } from "wouter";

import { useBridge, useFirstWaiting, useMay, useWaiting } from "../../state/bridge";
import { openDialog } from "../../state/page";
import { resumeSession, startSession, titleOf } from "../../state/session-actions";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Icon, type IconName } from "../../ui/icon";
import { Page } from "../pages/page";
import { likeliestFolder } from "../sessions/folders";
import { modelText } from "./model-text";
import { StartComposer } from "./start-composer";
import "./model-line.css";
import "./start-page.css";

const words = strings.start;

export function StartPage() {
  const waiting = useWaiting();
  const first = useFirstWaiting();
  const mayPrompt = useMay("prompt");
  const hello = useBridge((known) => known.hello);
  const [, go] = useLocation();
  return (
    <Page title={words.page}>
      <section className="start" aria-label={words.title}>
        <h2>{words.title}</h2>
        {waiting > 0 && (
          <Button className="start-waiting" onClick={() => go(`/session/${first}`)}>
            ● {words.waiting(waiting)}
          </Button>
        )}
        {mayPrompt && <StartComposer />}
        {mayPrompt && <ModelLine />}
        <p className="small soft">{words.says}</p>
      </section>
      {mayPrompt ? <Tries /> : hello && <p className="soft">{words.lookOnly}</p>}
    </Page>
  );
}

/** Which model answers, and the way to another. */
function ModelLine() {
  const cli = useBridge((known) => known.cli);
  if (!cli) return null;
  return (
    <div className={cli.demo ? "model-line demo" : "model-line"}>
      <Icon name={cli.demo ? "bolt" : "check"} />
      <p className="grow">
        <span className="unseen">{words.answers}: </span>
        <strong>{modelText(cli)}</strong> {cli.demo && words.demoSays}
      </p>
      <Button kind={cli.demo ? "main" : "plain"} onClick={() => openDialog("connect")}>
        {cli.demo ? strings.connect.open : words.change}
      </Button>
    </div>
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
  if (!cli) return null; // what there is to try depends on the model
  return (
    <section className="page-section" aria-label={words.try}>
      <h2>{words.try}</h2>
      <ul className="tries">
        {cli.demo ? <Try icon="bolt" {...words.tour} pick={begin(words.tourPrompt)} disabled={!folder} /> : <Try icon="book" {...words.look} pick={begin(words.lookPrompt)} disabled={!folder} />}
        {terminal && <Try icon="terminal" {...words.terminal} says={words.terminal.says(titleOf(terminal))} pick={resume} />}
        {mayAdmin && <Try icon="device" {...words.phone} pick={() => go("/devices")} />}
      </ul>
    </section>
  );
}

interface TryProps {
  icon: IconName;
  title: string;
  says: string;
  button: string;
  disabled?: boolean;
  pick(): unknown;
}

function Try({ icon, title, says, button, disabled = false, pick }: TryProps) {
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
      <Button disabled={disabled || busy} onClick={() => void press()}>
        {button}
      </Button>
    </li>
  );
}
