// The state of a session: a symbol and a word, never colour alone.

import type { SessionShown } from "../../protocol/messages";
import { strings } from "../../strings";
import { standing } from "./session-order";
import "./state-mark.css";

const words = strings.sessions.states;
const SIGNS = { needs: "●", working: "◐", failed: "✕", idle: "○", interrupted: "◇" } as const;
/** More specific words for some states of a group. */
const CLOSER: Record<string, string> = { hibernated: words.asleep, starting: words.starting, compacting: words.compacting };

function stateWord(session: SessionShown): string {
  if (session.archived) return words.archived;
  const looks = look(session);
  return looks === "needs" ? words.needs : (CLOSER[session.state] ?? words[looks]);
}

/** An interrupted session is in the group that needs the user, but has its own symbol. */
const look = (session: SessionShown): keyof typeof SIGNS => (session.state === "interrupted" ? "interrupted" : standing(session));

export function StateMark({ session, bare = false }: { session: SessionShown; bare?: boolean }) {
  const looks = look(session);
  return (
    <span className={`state-mark ${looks}`} title={session.state === "hibernated" ? strings.sessions.asleepHelp : undefined}>
      <span aria-hidden="true" className="sign">
        {SIGNS[looks]}
      </span>
      <span className={bare ? "unseen" : ""}>{stateWord(session)}</span>
    </span>
  );
}
