// Groups and sorts the sessions for the list. Pure.

import type { SessionShown } from "../../protocol/messages";
import { waits, type TerminalSession } from "../../state/bridge";
import { runnerOf } from "../../state/cluster";

type Standing = "needs" | "working" | "failed" | "idle";
export type Group = Standing | "terminal" | "archived";

/** A line of the list. */
export type Line =
  | { kind: "heading"; key: string; group: Group; count: number }
  | { kind: "session"; key: string; session: SessionShown }
  | { kind: "terminal"; key: string; session: TerminalSession };

const WORKING = ["running", "starting", "compacting"];
const GROUPS: readonly Standing[] = ["needs", "working", "failed", "idle"];

export function standing(session: SessionShown): Standing {
  if (waits(session) || session.state === "waiting_approval") return "needs";
  if (WORKING.includes(session.state)) return "working";
  return session.state === "failed" ? "failed" : "idle";
}

/** Whether the texts contain all words, in any order. */
export function hasWords(words: string, ...texts: string[]): boolean {
  const told = texts.join(" ").toLocaleLowerCase();
  return words.toLocaleLowerCase().split(/\s+/).every((word) => told.includes(word));
}

/** Active sessions are sorted by creation time, so that they keep their place while they work; others by last change. */
const ORDER: Record<Standing, (a: SessionShown, b: SessionShown) => number> = {
  needs: (a, b) => b.created - a.created,
  working: (a, b) => b.created - a.created,
  failed: (a, b) => b.changed - a.changed,
  idle: (a, b) => b.changed - a.changed,
};

interface Wanted {
  sessions: Iterable<SessionShown>;
  terminal: readonly TerminalSession[];
  words: string;
  archived: boolean;
}

export function lines({ sessions, terminal, words, archived }: Wanted): Line[] {
  const all = [...sessions];
  const found = all.filter((one) => hasWords(words, one.title, one.cwd, runnerOf(one)));
  const own = new Set(all.flatMap((one) => [one.id, one.conversation]));
  const theirs = terminal.filter((one) => !own.has(one.id) && hasWords(words, one.title, one.cwd)).toSorted((a, b) => b.changed - a.changed);
  const away = found.filter((one) => one.archived).toSorted((a, b) => b.changed - a.changed);
  return [
    ...GROUPS.flatMap((group) => headed(group, found.filter((one) => !one.archived && standing(one) === group).toSorted(ORDER[group]).map(asLine))),
    ...headed("terminal", theirs.map((session) => ({ kind: "terminal", key: session.id, session }))),
    ...(archived ? headed("archived", away.map(asLine)) : []),
  ];
}

/** The sessions in the order of the list. */
export const inOrder = (sessions: Iterable<SessionShown>): SessionShown[] => lines({ sessions, terminal: [], words: "", archived: false }).flatMap((one) => (one.kind === "session" ? [one.session] : []));

const asLine = (session: SessionShown): Line => ({ kind: "session", key: session.id, session });

function headed(group: Group, found: Line[]): Line[] {
  return found.length ? [{ kind: "heading", key: `heading-${group}`, group, count: found.length }, ...found] : [];
}
