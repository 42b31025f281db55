// The advanced fields of a new session.

import { expect, test } from "vitest";

import { isValid, limitErrors, limitFields, NO_LIMITS } from "../../src/views/sessions/limits";

test("empty fields send nothing", () => {
  expect(limitFields(NO_LIMITS)).toEqual({});
  expect(isValid(NO_LIMITS)).toBe(true);
});

test("valid fields are sent as the server expects them", () => {
  const limits = { turns: " 12 ", budget: "2.50", plugin: " /opt/plugin " };
  expect(isValid(limits)).toBe(true);
  expect(limitFields(limits)).toEqual({ max_turns: 12, max_budget_usd: 2.5, plugin_dirs: ["/opt/plugin"] });
});

test.each([
  ["turns", ["0", "-1", "1.5", "10001", "many", "1e3"]],
  ["budget", ["0", "-2", "0.0", "$5", "1e9", "2,50", "."]],
  ["plugin", ["plugins", "./plugins", "~/plugins"]],
] as const)("%s out of range or malformed is refused", (name, values) => {
  for (const value of values) {
    const limits = { ...NO_LIMITS, [name]: value };
    expect([value, isValid(limits), limitErrors(limits)[name] !== ""]).toEqual([value, false, true]);
  }
});

test("the bounds themselves are valid", () => {
  for (const turns of ["1", "10000"]) expect(isValid({ ...NO_LIMITS, turns })).toBe(true);
  for (const budget of ["0.01", ".5", "100000"]) expect(isValid({ ...NO_LIMITS, budget })).toBe(true);
});
