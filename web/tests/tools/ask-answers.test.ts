// Answers to AskUserQuestion, as CLIs of several versions report them.

import { expect, test } from "vitest";

import { answersOf, isUnread } from "../../src/tools/ask-answers";
import { toolOf } from "../../src/tools/registry";
import { callOf } from "./calls";

const QUESTIONS = [{ question: "Which color?", header: "Color" }, { question: "Which sizes?", header: "Sizes" }];
const asked = (result: string, detail?: unknown) => callOf("AskUserQuestion", { questions: QUESTIONS }, { result, detail });
const answers = (result: string, detail?: unknown) => answersOf(asked(result, detail), QUESTIONS);

test("a structured result has them by question or by index", () => {
  expect(answers("", { answers: { "Which color?": "Blue", "Which sizes?": ["S", "M"] } })).toEqual(["Blue", "S, M"]);
  expect(answers("", { answers: { "0": "Blue", "1": ["S"] } })).toEqual(["Blue", "S"]);
});

test.each([
  `User has answered your questions: 'Which color?'='Blue', 'Which sizes?'='S,M'`,
  `User has answered your questions: "Which color?"="Blue", "Which sizes?"="S,M". You can now continue with the user's answers in mind.`,
  `The user answered: "Which color?"="Blue" notes: my note, "Which sizes?"="S,M". Read the answers carefully.`,
])("a plain text has them too: %s", (text) => {
  expect(answers(text)).toEqual(["Blue", "S,M"]);
  expect(answers(text, "Success")).toEqual(["Blue", "S,M"]);
  expect(toolOf("AskUserQuestion").line(asked(text), "").outcome).toBe("Blue · S,M");
});

test("an answer may contain quotes, and a question characters of a pattern", () => {
  expect(answersOf(asked(`User has answered your questions: "Why (a|b)?"="the "best" one", "x"="y".`), [{ question: "Why (a|b)?" }])).toEqual([`the "best" one`]);
});

test("a text in an unknown form is shown as it is, and counts as answered", () => {
  const call = asked("Blue, and S.");
  expect(answersOf(call, QUESTIONS)).toEqual(["", ""]);
  expect(isUnread(call, ["", ""])).toBe(true);
  expect(toolOf("AskUserQuestion").line(call, "").outcome).toBe("answered");
  expect(toolOf("AskUserQuestion").line(asked("", { answers: {} }), "").outcome).toBe("not answered");
});
