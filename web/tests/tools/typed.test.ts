// Streaming tool input.

import { expect, test } from "vitest";

import { partial } from "../../src/tools/typed";

test.each([
  ['{"command": "ls -l', { command: "ls -l" }],
  ['{"command": "a\\nb\\', { command: "a\nb" }],
  ['{"a": "x\\u00e', { a: "x" }],
  ['{"a": "x\\\\', { a: "x\\" }],
  ['{"a": 1, "b', { a: 1 }],
  ['{"a": 1, "b":', { a: 1 }],
  ['{"a": 1, "b": tr', { a: 1 }],
  ['{"a": [1, {"b": "c', { a: [1, { b: "c" }] }],
  ['{"a": {"b": [', { a: { b: [] } }],
  ['{"a": "}]", "b": false}', { a: "}]", b: false }],
  ["", {}],
  ["nothing", {}],
  ['["a"', {}],
  ['{"a" "b"}', {}],
])("%s gives the complete part", (json, value) => {
  expect(partial(json)).toEqual(value);
});

test("every prefix of an input is readable, and the end gives all of it", () => {
  const input = { file_path: "/a/ü.ts", content: 'line "1"\n\tline \\ 2\u2028', edits: [{ old: "x", all: true }, null, -1.5e3], deep: { a: { b: [] } } };
  const json = JSON.stringify(input);
  for (let end = 0; end < json.length; end += 1) expect(typeof partial(json.slice(0, end))).toBe("object");
  expect(partial(json)).toEqual(input);
});

test("a name of everything's own harms nothing, and depth has an end", () => {
  partial('{"__proto__": {"polluted": true}}');
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  expect(partial(`{"a":${"[".repeat(100_000)}`)).toBeTypeOf("object");
});
