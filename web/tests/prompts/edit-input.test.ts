// The input of a tool, changed before it runs.

import { expect, test } from "vitest";

import { edited } from "../../src/views/prompts/edit-input";

const input = { command: "ls", timeout: 10, env: { A: "1" } };

test("text stays text, other values are JSON; untouched fields are unchanged", () => {
  expect(edited(input, { command: "ls -l", env: '{"A":"2"}' })).toEqual({ input: { command: "ls -l", timeout: 10, env: { A: "2" } }, problem: "" });
});

test("nothing changed is nothing to send", () => {
  expect(edited(input, { command: "ls" })).toEqual({ input: null, problem: "" });
});

test("invalid JSON is reported, and missing fields are not created", () => {
  expect(edited(input, { timeout: "ten" }).problem).toContain("timeout");
  expect(edited(input, { other: "x" }).input).toBeNull();
});
