// Finding by a few letters.

import { expect, test } from "vitest";

import { best, score } from "../../src/ui/fuzzy";

const find = (query: string, ...names: string[]) => best(query, names, (one) => [one]);

test("beginnings come first, then words, then letters in their order", () => {
  expect(find("co", "decode", "compact", "my-config", "cargo")).toEqual(["compact", "my-config", "decode", "cargo"]);
});

test("a name without one of the letters is not found", () => {
  expect(find("cz", "compact")).toEqual([]);
  expect(score("tcap", "compact")).toBe(0);
});

test("nothing typed finds all in their order", () => {
  expect(find("", "b", "a")).toEqual(["b", "a"]);
});
