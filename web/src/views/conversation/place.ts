// Where in a conversation something stands. In: the rows, the time of an event. Out: the place of the row that it made. Pure.

import type { Row } from "../../state/state";
import type { Fold } from "./fold";

const timesOf = (row: Row | Fold): number[] => {
  if (row.kind === "fold") return row.calls.flatMap(timesOf);
  return row.kind === "call" ? [row.began, row.ended, ...row.rows.flatMap(timesOf)] : [row.time];
};

/** -1 where there is none. The row with that very time; else the last one before it. */
export function placeOf(rows: readonly (Row | Fold)[], time: number): number {
  const times = rows.map(timesOf);
  const exact = times.findIndex((all) => all.includes(time));
  return exact >= 0 ? exact : times.findLastIndex((all) => all.some((one) => one > 0 && one <= time));
}
