import { expect, test } from "vitest";

import type { Row } from "../../src/state/state";
import { placeOf } from "../../src/views/conversation/place";

const said = (time: number) => ({ kind: "said", key: String(time), time }) as unknown as Row;
const call = (began: number, ended: number, rows: Row[] = []) => ({ kind: "call", key: `c${began}`, began, ended, rows }) as unknown as Row;

test("a row is found by the time of its event, a call by its start, end and content", () => {
  const rows = [said(10), call(20, 25, [said(22)]), said(30)];
  expect([10, 20, 25, 22, 30].map((time) => placeOf(rows, time))).toEqual([0, 1, 1, 1, 2]);
});

test("without a row at that time, it is the last one before", () => {
  expect(placeOf([said(10), said(30)], 29)).toBe(0);
  expect(placeOf([said(10)], 5)).toBe(-1);
});
