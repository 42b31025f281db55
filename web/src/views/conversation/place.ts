// Finds the row that an event produced. Pure.

import type { Row } from "../../state/state";
import type { Fold } from "./fold";

const timesOf = (row: Row | Fold): number[] => {
  if (row.kind === "fold") return row.calls.flatMap(timesOf);
  return row.kind === "call" ? [row.began, row.started, row.ended, ...row.rows.flatMap(timesOf)] : [row.time];
};

/** The index of the row with that exact time, else of the last one before it; -1 if there are only later rows. */
export function placeOf(rows: readonly (Row | Fold)[], time: number): number {
  const times = rows.map(timesOf);
  const exact = times.findIndex((all) => all.includes(time));
  return exact >= 0 ? exact : times.findLastIndex((all) => all.some((one) => one > 0 && one <= time));
}
