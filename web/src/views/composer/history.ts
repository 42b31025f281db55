// The user's earlier messages in a session, newest first, without consecutive duplicates. Pure.

import { plain } from "../../protocol/wire";
import type { Queued, Row } from "../../state/state";

const MOST = 100;

export function historyOf(rows: readonly Row[], queue: readonly Queued[]): string[] {
  const said = queue.map((one) => plain(one.blocks)).toReversed();
  for (let at = rows.length - 1; at >= 0 && said.length < MOST; at -= 1) {
    const row = rows[at]!;
    if (row.kind === "said") said.push(plain(row.blocks));
  }
  return said.filter((text, at) => text.trim() && text !== said[at - 1]);
}
