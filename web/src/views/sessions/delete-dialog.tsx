// Confirms that a session is deleted, and says what happens to the transcript of the CLI.

import { useState } from "react";
import { useLocation } from "wouter";

import type { SessionShown } from "../../protocol/messages";
import { text } from "../../protocol/wire";
import { useKnown } from "../../state/about";
import { useBridge } from "../../state/bridge";
import { archiveSession, deleteSession, titleOf } from "../../state/session-actions";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";

const words = strings.sessions.remove;

/** Whether the CLI's transcript outlives the session. The transcript of the embedded agent is deleted with the session. */
function useOwnTranscript(session: string): boolean {
  const told = useKnown((known) => text(known.about[session]?.["cli"]));
  const kind = useBridge((known) => known.cli?.kind ?? "");
  const cli = told || kind;
  return cli !== "" && cli !== "agent";
}

export function DeleteDialog({ session, working, close }: { session: SessionShown; working: boolean; close(): void }) {
  const [place, go] = useLocation();
  const hasTranscript = useOwnTranscript(session.id);
  const [transcript, setTranscript] = useState(false);
  const remove = async () => {
    close();
    if ((await deleteSession(session, transcript)) && place === `/session/${session.id}`) go("/");
  };
  const archive = () => {
    close();
    void archiveSession(session, true);
  };
  return (
    <Dialog title={words.title} onClose={close}>
      <p>{words.goes}</p>
      <p><strong>{titleOf(session)}</strong></p>
      {working && <p>{words.running}</p>}
      <p className="soft">{hasTranscript ? words.keepsTranscript : words.stays}</p>
      {hasTranscript && (
        <label className="check">
          <input type="checkbox" checked={transcript} onChange={(event) => setTranscript(event.target.checked)} />
          {words.transcript}
        </label>
      )}
      <footer className="dialog-foot">
        {!session.archived && <Button onClick={archive}>{words.instead}</Button>}
        <Button onClick={close}>{words.no}</Button>
        <Button kind="danger" onClick={() => void remove()}>
          {words.yes}
        </Button>
      </footer>
    </Dialog>
  );
}
