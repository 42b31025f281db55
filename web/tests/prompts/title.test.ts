// Titles of prompts.

import { expect, test } from "vitest";

import { NO_HELP, type Question } from "../../src/state/state";
import { titleOf } from "../../src/views/prompts/title";

const question = (kind: Question["kind"], request: Record<string, unknown>): Question => ({ id: "q", kind, hash: "", request, suggestions: [], agent: "", help: NO_HELP, time: 0 });

test.each([
  ["Bash", { command: "ls" }, "Run this command?"],
  ["Edit", { file_path: "/a/b/app.ts" }, "Edit app.ts?"],
  ["Write", { file_path: "new.txt" }, "Write new.txt?"],
  ["NotebookEdit", { notebook_path: "/x/n.ipynb" }, "Edit n.ipynb?"],
  ["WebFetch", { url: "https://example.org/a" }, "Fetch from example.org?"],
  ["mcp__files__read_all", {}, "files › read_all?"],
  ["Something", {}, "Use Something?"],
  ["constructor", {}, "Use constructor?"],
  ["Edit", {}, "Edit a file?"],
])("%s %j", (tool_name, input, title) => {
  expect(titleOf(question("permission", { tool_name, input }))).toBe(title);
});

test("questions are counted, a server is named", () => {
  expect(titleOf(question("questions", { input: { questions: [{}, {}] } }))).toBe("2 questions");
  expect(titleOf(question("questions", {}))).toBe("Question");
  expect(titleOf(question("elicitation", { mcp_server_name: "mail" }))).toBe("Request from mail");
});

test("a name that deceives the eye is spelled out, and a long one is cut", () => {
  expect(titleOf(question("permission", { tool_name: "Edit", input: { file_path: "/a/photo\u202Egpj.exe" } }))).toBe("Edit photo⟨U+202E⟩gpj.exe?");
  expect(titleOf(question("permission", { tool_name: "mcp__a\u202Eb__c\u200B", input: {} }))).toBe("a⟨U+202E⟩b › c⟨U+200B⟩?");
  expect(titleOf(question("elicitation", { mcp_server_name: "x".repeat(1_000_000) })).length).toBeLessThan(200);
});

test("a tool is shown by its name, not by its claimed title", () => {
  expect(titleOf(question("permission", { tool_name: "Destroy", display_name: "Look around", input: {} }))).toBe("Use Destroy?");
});
