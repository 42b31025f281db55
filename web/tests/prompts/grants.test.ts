// Grants.

import { expect, test } from "vitest";

import { chosenOf } from "../../src/views/prompts/grants";

test("only ticked suggestions are granted, each in its chosen scope", () => {
  const suggestions = [0, 1, 2].map((index) => ({ index, words: `w${index}`, destinations: ["session", "userSettings"], suggested: "session" }));
  expect(chosenOf(suggestions, {})).toEqual([]);
  expect(chosenOf(suggestions, { 0: "session", 1: "", 2: "userSettings" })).toEqual([{ index: 0, destination: "session" }, { index: 2, destination: "userSettings" }]);
});
