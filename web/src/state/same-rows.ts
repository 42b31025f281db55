// Replaces rebuilt rows with the equal rows of the previous state, so that React does not render them again.

import { isObject } from "../protocol/wire";
import type { Row } from "./state";

/** Rows compared, newest first. Comparing takes time too, and the visible rows are usually among these. */
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

/** Rows mostly share the objects of their events, so equal references end the comparison early. */
function equal(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (Array.isArray(one)) return Array.isArray(other) && one.length === other.length && one.every((value, at) => equal(value, other[at]));
  if (!isObject(one) || !isObject(other)) return false;
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => Object.hasOwn(other, name) && equal(one[name], other[name]));
}
