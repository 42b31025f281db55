// How a session stands: a sign and a word, never a colour alone.

import type { SessionShown } from "../../protocol/messages";
import { strings } from "../../strings";
import { standing } from "./session-order";
import "./state-mark.css";

const words = strings.sessions.states;
const SIGNS = { needs: "●", working: "◐", failed: "✕", idle: "○" } as const;
/** Where the bridge knows more than the group says. */
const CLOSER: Record<string, string> = { hibernated: words.asleep, starting: words.starting, compacting: words.compacting };

function stateWord(session: SessionShown): string {
  if (session.archived) return words.archived;
  const stands = standing(session);
  return stands === "needs" ? words.needs : (CLOSER[session.state] ?? words[stands]);
}

export function StateMark({ session, bare = false }: { session: SessionShown; bare?: boolean }) {
  const stands = standing(session);
  return (
    <span className={`state-mark ${stands}`} title={session.state === "hibernated" ? strings.sessions.asleepHelp : undefined}>
      <span aria-hidden="true" className="sign">
        {SIGNS[stands]}
      </span>
      <span className={bare ? "unseen" : ""}>{stateWord(session)}</span>
    </span>
  );
}
