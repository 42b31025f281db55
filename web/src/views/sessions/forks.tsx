// The tree of forks that contains a session, with a link to each.

import { useEffect, useMemo } from "react";
import { useLocation, useRoute } from "wouter";

import { useBridge, useMay } from "../../state/bridge";
import { closeDialog } from "../../state/page";
import { forkSession, listArchived, titleOf } from "../../state/session-actions";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Icon } from "../../ui/icon";
import "./forks.css";
import { forkTree, type Branch } from "./fork-tree";
import { StateMark } from "./state-mark";
import { TimeAgo } from "../../ui/time-ago";

const words = strings.sessions.forks;

export function Forks({ subject }: { subject: string }) {
  const sessions = useBridge((known) => known.sessions);
  const mayPrompt = useMay("prompt");
  const [, go] = useLocation();
  const [, params] = useRoute("/session/:id");
  const here = params?.id ?? "";
  const tree = useMemo(() => forkTree(sessions, subject), [sessions, subject]);
  useEffect(() => void listArchived(), []); // forks may be archived
  const visit = (id: string) => {
    closeDialog();
    go(`/session/${id}`);
  };
  const fork = async () => {
    const made = await forkSession(subject);
    if (made) visit(made);
  };
  return (
    <Dialog title={words.title} onClose={closeDialog}>
      <p className="soft">{tree.length > 1 ? words.says : words.alone}</p>
      <ul className="forks" aria-label={words.title}>
        {tree.map((branch) => (
          <Line key={branch.id} branch={branch} here={branch.id === here} visit={visit} />
        ))}
      </ul>
      {mayPrompt && (
        <footer className="dialog-foot">
          <Button onClick={() => void fork()}>
            <Icon name="fork" />
            {words.forkNow}
          </Button>
        </footer>
      )}
    </Dialog>
  );
}

function Line({ branch, here, visit }: { branch: Branch; here: boolean; visit(id: string): void }) {
  const { id, session, depth, at } = branch;
  return (
    <li className="fork" style={{ paddingInlineStart: `${Math.min(depth, 12) * 20}px` }}>
      {depth > 0 && <Icon name="fork" />}
      <button type="button" className="fork-link" disabled={!session} aria-current={here ? "true" : undefined} onClick={() => visit(id)}>
        <span className="one-line grow">{session ? titleOf(session) : words.gone}</span>
        <span className="small soft row">
          {here && <strong>{words.here}</strong>}
          {depth > 0 && <span>{at ? words.at : words.whole}</span>}
          {session && <StateMark session={session} />}
          {session && <TimeAgo time={session.changed} />}
        </span>
      </button>
    </li>
  );
}
