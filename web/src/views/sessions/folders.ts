// Which folders are likely, and where they stand. In: sessions, folders below which sessions may work. Out: paths. Pure.

import type { SessionShown } from "../../protocol/messages";

const MOST = 5;

/** Where sessions worked last, each folder once. */
export function recentFolders(sessions: Iterable<SessionShown>): string[] {
  const byTime = [...sessions].toSorted((a, b) => b.changed - a.changed);
  return [...new Set(byTime.map((one) => one.cwd).filter(Boolean))].slice(0, MOST);
}

/** The folder that one most likely wants: that of the session that is shown, else of the last one, else the first that there is. */
export function likeliestFolder(sessions: ReadonlyMap<string, SessionShown>, here: string, roots: readonly string[]): string {
  return sessions.get(here)?.cwd || recentFolders(sessions.values())[0] || roots[0] || "";
}

/** The folder above, where sessions may work there too; else "". */
export function parentIn(folder: string, roots: readonly string[]): string {
  const above = folder.replace(/\/+$/, "").split("/").slice(0, -1).join("/");
  return roots.some((root) => above === root || above.startsWith(`${root.replace(/\/+$/, "")}/`)) ? above : "";
}
