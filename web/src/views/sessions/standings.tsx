// Warnings about a session: untrusted folder, expired permissions, failure, lost machine. Each with a button to resolve it.

import { useState } from "react";

import type { SessionShown } from "../../protocol/messages";
import { command, useBridge, useMay } from "../../state/bridge";
import { runnerOf, useCluster } from "../../state/cluster";
import { tell } from "../../state/notices";
import { resumeSession } from "../../state/session-actions";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import { visible } from "../../ui/visible";
import { VisibleText } from "../../ui/visible-text";
import { lapsedWords } from "./lapsed";
import { hasFolder } from "./where";

const words = strings.sessions.head;
const { machines } = strings;
/** Granting again restarts the process, so it is offered only while no turn runs. */
const RESTING = ["idle", "hibernated", "failed"];

export function Standings({ session }: { session: SessionShown }) {
  if (session.state === "interrupted") return <Interrupted session={session} />; // other warnings matter only once it has a machine again
  return (
    <>
      {session.state === "failed" && <Failed session={session} />}
      {!session.trusted && <Untrusted session={session} />}
      {session.lapsed.length > 0 && <Lapsed session={session} />}
    </>
  );
}

/** Runs an action and reports whether it is in progress. */
function useBusy(): [boolean, (work: () => Promise<unknown>) => void] {
  const [busy, setBusy] = useState(false);
  return [
    busy,
    (work) => {
      setBusy(true);
      void work().finally(() => setBusy(false));
    },
  ];
}

function Interrupted({ session }: { session: SessionShown }) {
  const [busy, run] = useBusy();
  const mayPrompt = useMay("prompt");
  const nowhere = useCluster(({ cluster }) => cluster !== null && cluster.up && !cluster.machines.some((one) => one.runs && hasFolder(one, session.cwd)));
  const takeUp = async () => {
    if (!(await resumeSession(session.id))) return; // the refusal was shown
    const now = useBridge.getState().sessions.get(session.id);
    tell(machines.takenUp(now ? visible(runnerOf(now), true) : ""));
  };
  return (
    <div className="standing interrupted" role="alert">
      <Icon name="machine" />
      <span className="grow">
        <VisibleText text={machines.gone(runnerOf(session))} />
        {nowhere && ` ${machines.nowhere}`}
      </span>
      {mayPrompt && (
        <Button disabled={busy} onClick={() => run(takeUp)}>
          {machines.takeUp}
        </Button>
      )}
    </div>
  );
}

function Failed({ session }: { session: SessionShown }) {
  const [busy, run] = useBusy();
  const mayPrompt = useMay("prompt");
  return (
    <div className="standing failed" role="alert">
      <Icon name="cross" />
      <span className="grow">
        <VisibleText text={words.failed(session.error)} />
      </span>
      {mayPrompt && (
        <Button disabled={busy} onClick={() => run(() => resumeSession(session.id))}>
          {words.tryAgain}
        </Button>
      )}
    </div>
  );
}

function Untrusted({ session }: { session: SessionShown }) {
  const [busy, run] = useBusy();
  const mayPrompt = useMay("prompt");
  return (
    <div className="standing">
      <Icon name="shield" />
      <span className="grow">
        <strong>{words.untrusted}.</strong> {words.untrustedHelp}
      </span>
      {mayPrompt && (
        <Button disabled={busy} onClick={() => run(() => resumeSession(session.id, true))}>
          {words.look}
        </Button>
      )}
    </div>
  );
}

function Lapsed({ session }: { session: SessionShown }) {
  const [busy, run] = useBusy();
  const mayApprove = useMay("approve");
  const again = async () => {
    if (await command("grant_again", { session: session.id })) tell(words.granted);
  };
  return (
    <div className="standing">
      <Icon name="clock" />
      <span className="grow">
        <VisibleText text={words.lapsed(lapsedWords(session.lapsed))} />
      </span>
      {mayApprove && (
        <Button disabled={busy || !RESTING.includes(session.state)} title={RESTING.includes(session.state) ? undefined : words.againLater} onClick={() => run(again)}>
          {words.again}
        </Button>
      )}
    </div>
  );
}
