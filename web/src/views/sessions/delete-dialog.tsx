// Asks again before a session is deleted, and says what goes and what stays.

import { useLocation } from "wouter";

import type { SessionShown } from "../../protocol/messages";
import { archiveSession, deleteSession, titleOf } from "../../state/session-actions";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";

const words = strings.sessions.remove;

export function DeleteDialog({ session, working, close }: { session: SessionShown; working: boolean; close(): void }) {
  const [place, go] = useLocation();
  const remove = async () => {
    close();
    if ((await deleteSession(session)) && place === `/session/${session.id}`) go("/");
  };
  const archive = () => {
    close();
    void archiveSession(session, true);
  };
  return (
    <Dialog title={words.title} onClose={close}>
      <p>{words.goes(titleOf(session))}</p>
      {working && <p>{words.running}</p>}
      <p className="soft">{words.stays}</p>
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
