// Folds consecutive read-only calls into one row that holds them all. Pure.

import { toolOf } from "../../tools/registry";
import type { Call, Row } from "../../state/state";

const FEWEST = 3;

/** Consecutive read-only calls as one row. */
export interface Fold {
  kind: "fold";
  key: string;
  calls: Call[];
}

const looked = (row: Row): row is Call => row.kind === "call" && row.status === "done" && toolOf(row.name).looks === true;

export function fold(rows: readonly Row[]): (Row | Fold)[] {
  const out: (Row | Fold)[] = [];
  let run: Call[] = [];
  const flush = () => {
    if (run.length >= FEWEST) out.push({ kind: "fold", key: `f${run[0]!.key}`, calls: run });
    else out.push(...run);
    run = [];
  };
  for (const row of rows) {
    if (looked(row)) {
      run.push(row);
      continue;
    }
    flush();
    out.push(row);
  }
  flush();
  return out;
}
