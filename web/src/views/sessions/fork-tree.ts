// The tree of forks that contains a session, as lines with their depth. Pure.

import type { SessionShown } from "../../protocol/messages";

export interface Branch {
  id: string;
  /** Undefined if the session was deleted; its forks still refer to it. */
  session: SessionShown | undefined;
  depth: number;
  /** The message it was forked at; "" for the whole history. */
  at: string;
}

export function forkTree(sessions: ReadonlyMap<string, SessionShown>, id: string): Branch[] {
  const children = new Map<string, SessionShown[]>();
  for (const one of sessions.values()) {
    const from = one.forked_from;
    if (from) children.set(from, [...(children.get(from) ?? []), one]);
  }
  const found: Branch[] = [];
  const seen = new Set<string>();
  const visit = (one: string, depth: number): void => {
    if (seen.has(one)) return; // guards against cycles in the server's data
    seen.add(one);
    const session = sessions.get(one);
    found.push({ id: one, session, depth, at: session?.forked_at ?? "" });
    for (const child of (children.get(one) ?? []).toSorted((a, b) => a.created - b.created)) visit(child.id, depth + 1);
  };
  visit(rootOf(sessions, id), 0);
  return found;
}

function rootOf(sessions: ReadonlyMap<string, SessionShown>, id: string): string {
  const seen = new Set<string>();
  let root = id;
  while (!seen.has(root)) {
    seen.add(root);
    const from = sessions.get(root)?.forked_from;
    if (!from) break;
    root = from;
  }
  return root;
}
