import { expect, test } from "vitest";

import { grouped, perDay, todayOf, tokens, total, usageRows } from "../../src/views/pages/usage-figures";
import { stacked } from "../../src/views/pages/stacked";

const rows = usageRows([
  { day: "2026-11-14", model: "opus", project: "/a/shop", cost_usd: 2, input_tokens: 10, output_tokens: 5, cache_read_tokens: 100, turns: 1 },
  { day: "2026-11-16", model: "haiku", project: "/a/shop", cost_usd: 0.5, input_tokens: 20, output_tokens: 5, cache_read_tokens: 0, turns: 2 },
  { day: "2026-11-16", model: "opus", project: "/a/site", cost_usd: 1, input_tokens: 1, output_tokens: 1, cache_read_tokens: 0, turns: 1 },
]);

test("days without use are included", () => {
  expect(perDay(rows, 4, "2026-11-16").map((one) => [one.name, one.cost])).toEqual([["2026-11-13", 0], ["2026-11-14", 2], ["2026-11-15", 0], ["2026-11-16", 1.5]]);
});

test("models and projects are summed, the dearest first", () => {
  expect(grouped(rows, "model").map((one) => [one.name, one.cost, one.turns])).toEqual([["opus", 3, 2], ["haiku", 0.5, 2]]);
  expect(grouped(rows, "project").map((one) => one.name)).toEqual(["/a/shop", "/a/site"]);
});

test("the total counts every token once", () => {
  expect(tokens(total(rows))).toBe(142);
});

test("rows of another kind count as nothing, and break nothing", () => {
  expect(total(usageRows([{ day: 5, cost_usd: "much" }, "no row", null]))).toEqual({ cost: 0, input: 0, output: 0, cached: 0, turns: 0 });
  expect(usageRows("nothing")).toEqual([]);
});

test("the server's day counts where it is later than ours, and nonsense does not", () => {
  const now = Date.parse("2026-11-15T23:00:00Z");
  expect(todayOf(rows, now)).toBe("2026-11-16");
  expect(todayOf(usageRows([{ day: "zzzz" }]), now)).toBe("2026-11-15");
});

test("bars are stacked", () => {
  expect(stacked([[1, 2], [3, 4], [5, 6]])).toEqual([[1, 2], [4, 6], [9, 12]]);
});
