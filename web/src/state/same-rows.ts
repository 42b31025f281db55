// Rows that were made anew and say the same as before are the rows from before: what is drawn of them need not be drawn again.
// In: rows made anew, rows from before that stand at their end. Out: the former, with the latter in their place where nothing changed.

import { isObject } from "../protocol/wire";
import type { Row } from "./state";

/** So many of the newest are looked at, as that takes time too: what somebody sees is most often among them. */
const NEWEST = 400;

export function sameRows(made: readonly Row[], before: readonly Row[]): Row[] {
  const rows = [...made];
  const more = made.length - before.length;
  for (let at = rows.length - 1; at >= Math.max(more, 0, rows.length - NEWEST); at -= 1) {
    const known = before[at - more]!;
    if (equal(rows[at], known)) rows[at] = known;
  }
  return rows;
}

/** Most of what two rows hold is the same object, of the same event: that is not looked into. */
function equal(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (Array.isArray(one)) return Array.isArray(other) && one.length === other.length && one.every((value, at) => equal(value, other[at]));
  if (!isObject(one) || !isObject(other)) return false;
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => Object.hasOwn(other, name) && equal(one[name], other[name]));
}
