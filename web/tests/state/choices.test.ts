import { expect, test } from "vitest";

import { allFields, choicesOf, chosenFields, NO_CHOICE, offeredOf } from "../../src/state/choices";

test("only what was chosen is sent with a start", () => {
  expect(chosenFields(NO_CHOICE)).toEqual({});
  expect(chosenFields({ ...NO_CHOICE, mode: "plan", thinking: "0" })).toEqual({ mode: "plan", thinking_tokens: 0 });
});

test("defaults survive a round trip", () => {
  const choices = { model: "opus", mode: "plan", effort: "high", thinking: "4000", style: "Explanatory" };
  expect(choicesOf(allFields(choices))).toEqual(choices);
  expect(choicesOf(allFields(NO_CHOICE))).toEqual(NO_CHOICE);
});

test("options of a CLI may have any shape, and the newest session's are used", () => {
  const told = { models: [{ value: "opus", displayName: "Opus" }, { displayName: "no value" }, 5], output_styles: ["a", 1] };
  const { models, outputStyles } = offeredOf({ new: told, old: { models: [{ value: "haiku" }] } }, "new");
  expect(models.map(({ value, name }) => [value, name])).toEqual([["opus", "Opus"]]);
  expect(outputStyles).toEqual(["a"]);
  expect(offeredOf({}, "").models).toEqual([]);
});

test("if the newest session reported nothing, another one is used", () => {
  expect(offeredOf({ old: { models: [{ value: "haiku" }] }, new: {} }, "new").models[0]?.value).toBe("haiku");
});
