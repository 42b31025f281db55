// Rows that are rebuilt.

import { expect, test } from "vitest";

import { replay } from "../../src/state/reduce";
import { sameRows } from "../../src/state/same-rows";
import { Telling } from "./telling";

test("equal rows are the same object, others are not", () => {
  const older = new Telling().init().assistant("first", { message: { id: "m0", content: "first" } });
  const newer = new Telling(2).use("t1", "Bash", { command: "ls" }).returned("t1", "a").assistant("last");
  const before = replay(newer.events).rows;
  const rows = sameRows(replay([...older.events, ...newer.events]).rows, before);
  expect(rows).toHaveLength(3);
  expect(rows[1]).toBe(before[0]);
  expect(rows[2]).toBe(before[1]);
  const changed = sameRows(replay([...older.events, ...newer.events, ...new Telling(5).returned("t1", "b").events]).rows, before);
  expect(changed[1]).not.toBe(before[0]);
  expect(changed[2]).toBe(before[1]);
});

test("fewer rows than before, or none, are accepted", () => {
  const before = replay(new Telling().init().assistant("a").assistant("b").events).rows;
  expect(sameRows([], before)).toEqual([]);
  expect(sameRows(before.slice(1), before)[0]).toBe(before[1]);
  expect(sameRows(before, [])).toEqual(before);
});
