// Options of the suggestion list.

import { expect, test } from "vitest";

import { commandOption, mentionOptions } from "../../src/views/composer/suggestions";

const BOOK = { server: "library", uri: "book://7", name: "The seventh book", description: "Poems" };

test("files and MCP resources are listed; a resource is mentioned by server and uri", () => {
  expect(mentionOptions({ files: [{ path: "src/a.py", kind: "file" }, { path: "my docs", kind: "directory" }], resources: [BOOK] })).toMatchObject([
    { name: "src/a.py", value: "@src/a.py" },
    { name: "my docs", value: '@"my docs/"' },
    { name: "The seventh book", detail: "MCP resource · library · Poems", value: "@library:book://7" },
  ]);
});

test("a resource without a name shows its address; one without a server or uri is dropped", () => {
  expect(mentionOptions({ resources: [{ server: "library", uri: "book://7" }, { uri: "book://8" }, { server: "library" }, 5] })).toMatchObject([{ name: "library:book://7", detail: "MCP resource · library" }]);
});

test("an answer without resources, as an older server gives it, lists files only", () => {
  expect(mentionOptions({ files: [{ path: "a" }] })).toHaveLength(1);
  expect(mentionOptions({})).toEqual([]);
});

test("many files leave room for resources, and duplicates appear once", () => {
  const files = Array.from({ length: 80 }, (_, at) => ({ path: `f${at}` }));
  const options = mentionOptions({ files, resources: [BOOK, BOOK] });
  expect(options).toHaveLength(50);
  expect(options.at(-1)!.value).toBe("@library:book://7");
});

test("an MCP prompt is a command that names its server", () => {
  expect(commandOption({ name: "mcp__library__recommend", description: "Suggest a book", argumentHint: "[mood]" })).toMatchObject({ name: "/mcp__library__recommend", value: "/mcp__library__recommend", detail: "Suggest a book · MCP prompt · library", end: "[mood]" });
  expect(commandOption({ name: "compact", description: "Make it short", argumentHint: "" }).detail).toBe("Make it short");
});
