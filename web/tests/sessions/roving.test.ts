import { expect, test } from "vitest";

import { next } from "../../src/views/sessions/roving";

const keys = ["#1", "a", "b", "#2", "c"];
const stops = (key: string) => !key.startsWith("#");

test("headings are passed over in both directions", () => {
  expect(next(keys, stops, 3, 1)).toBe(4);
  expect(next(keys, stops, 3, -1)).toBe(2);
});

test("at the ends the focus stays", () => {
  expect(next(keys, stops, 5, 1)).toBe(4); // beyond the end is the end
  expect(next(keys, stops, 0, -1)).toBe(-1);
  expect(next([], stops, 0, 1)).toBe(-1);
});
