// Choices for a session.

import { expect, test } from "vitest";

import type { ModelTold } from "../../src/state/about";
import { effortOptions, modelOf, modelOptions, modeOptions, thinkingOptions } from "../../src/views/settings/options";

const model = (value: string, resolved = value, efforts: string[] = []): ModelTold => ({ value, resolved, name: value, description: "", efforts, fast: false });
const MODELS = [model("default", "claude-opus-5-5"), model("opus", "claude-opus-5-5", ["low", "high"]), model("haiku", "claude-haiku-4-5")];

test("a model is found by its name and by its alias", () => {
  expect(modelOf(MODELS, "haiku")?.value).toBe("haiku");
  expect(modelOf(MODELS, "claude-opus-5-5")?.value).toBe("opus");
  expect(modelOf(MODELS, "unheard-of")).toBeUndefined();
});

test("there is always a way back to the default", () => {
  expect(modelOptions(MODELS).map((one) => one.value)).toEqual(["default", "opus", "haiku"]);
  expect(modelOptions([]).map((one) => one.value)).toEqual([""]);
});

test("a model offers its own effort levels; one that is not known, all", () => {
  expect(effortOptions(MODELS[1]).map((one) => one.value)).toEqual(["", "low", "high"]);
  expect(effortOptions(MODELS[2]).map((one) => one.value)).toEqual([""]);
  expect(effortOptions(undefined)).toHaveLength(6);
});

test("each mode has a sentence, and the one that asks for nothing is not offered", () => {
  expect(modeOptions(false).every((one) => one.what)).toBe(true);
  expect(modeOptions(false).map((one) => one.value)).not.toContain("bypassPermissions");
  expect(modeOptions(true).map((one) => one.value)).toContain("bypassPermissions");
});

test("any number of tokens for thinking that holds now can be seen", () => {
  expect(thinkingOptions(null).map((one) => one.value)).toEqual(["", "0", "4000", "10000", "32000"]);
  expect(thinkingOptions(777).at(-1)).toEqual({ value: "777", name: "777 tokens" });
});
