// Figures as people read them.

import { expect, test } from "vitest";

import { bytes, dollars, percent, portion, short, span, whole } from "../../src/strings/figures";

test("tokens have a short and a full form", () => {
  expect([0, 940, 1000, 12_345, 999_499, 1_234_567].map(short)).toEqual(["0", "940", "1k", "12k", "999k", "1.2M"]);
  expect(whole(1234567)).toBe("1,234,567");
});

test("a little is not nothing, and nearly all is not all", () => {
  expect([percent(0, 100), percent(1, 1000), percent(50, 100), percent(9999, 10_000), percent(7, 0), percent(120, 100)]).toEqual([0, 1, 50, 99, 0, 100]);
});

test("a share that rounds to zero is shown as less than 1 %", () => {
  expect([portion(1, 1000), portion(34, 100), portion(0, 100)]).toEqual(["<1 %", "34 %", "0 %"]);
});

test("small sums keep their figures", () => {
  expect([0, 0.0017, 0.5, 12.3].map(dollars)).toEqual(["$0.00", "$0.0017", "$0.50", "$12.30"]);
});

test("durations use the unit that fits", () => {
  expect([400, 12_000, 185_000, 7_440_000].map(span)).toEqual(["0.4 s", "12 s", "3 min 5 s", "2 h 4 min"]);
});

test("sizes use the unit that fits", () => {
  expect([0, 940, 1024, 1536, 34 * 1024 ** 2, 2.14 * 1024 ** 3, 3 * 1024 ** 4].map(bytes)).toEqual(["0 B", "940 B", "1 KiB", "1.5 KiB", "34 MiB", "2.1 GiB", "3 TiB"]);
});
