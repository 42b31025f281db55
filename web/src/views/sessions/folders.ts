// Suggested folders for a new session. Pure.

import type { SessionShown } from "../../protocol/messages";

const MOST = 5;

/** The folders of the most recent sessions, without duplicates. */
export function recentFolders(sessions: Iterable<SessionShown>): string[] {
  const byTime = [...sessions].toSorted((a, b) => b.changed - a.changed);
  return [...new Set(byTime.map((one) => one.cwd).filter(Boolean))].slice(0, MOST);
}

/** The default folder: that of the session shown, else of the most recent session, else the first allowed root. */
export function likeliestFolder(sessions: ReadonlyMap<string, SessionShown>, here: string, roots: readonly string[]): string {
  return sessions.get(here)?.cwd || recentFolders(sessions.values())[0] || roots[0] || "";
}

/** The parent folder, or "" if sessions may not work there. */
export function parentIn(folder: string, roots: readonly string[]): string {
  const above = folder.replace(/\/+$/, "").split("/").slice(0, -1).join("/");
  return roots.some((root) => above === root || above.startsWith(`${root.replace(/\/+$/, "")}/`)) ? above : "";
}
