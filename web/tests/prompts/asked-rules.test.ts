// Answers to questions.

import { expect, test } from "vitest";

import { answersOf, missing, NOTHING, pick, pickOther, readAsked } from "../../src/views/prompts/asked-rules";

const asked = readAsked([
  { question: "Which?", header: "Which", options: [{ label: "A" }, { label: "B" }] },
  { question: "All?", multiSelect: true, options: [{ label: "C" }, { label: "D" }] },
]);

test("one choice takes the place of the other, several add up", () => {
  const one = pick(pick(NOTHING, "A", false), "B", false);
  const two = pick(pick(NOTHING, "C", true), "D", true);
  expect(answersOf(asked, { "Which?": one, "All?": two }).answers).toEqual({ "Which?": "B", "All?": ["C", "D"] });
  expect(pick(two, "C", true).labels).toEqual(["D"]);
});

test("free text counts if chosen and not empty; notes are sent along", () => {
  const own = { ...pickOther(pick(NOTHING, "A", false), false), words: " green ", note: " dark " };
  expect(answersOf(asked, { "Which?": own })).toEqual({ answers: { "Which?": "green" }, notes: { "Which?": "dark" } });
  expect(missing(asked, { "Which?": { ...own, words: " " } }).length).toBe(2);
});

test("missing answers are named by their headers", () => {
  expect(missing(asked, { "Which?": pick(NOTHING, "A", false) }).map((one) => one.header)).toEqual(["All?"]);
});
