// Completion at the caret.

import { expect, test } from "vitest";

import { completed, mentionOf, tokenAt } from "../../src/views/composer/completion";

const at = (marked: string) => tokenAt(marked.replace("|", ""), marked.indexOf("|"));

test("a slash is a command only as the first word", () => {
  expect(at("/comp|")).toMatchObject({ kind: "slash", query: "comp", from: 0, to: 5 });
  expect(at("/|")).toMatchObject({ kind: "slash", query: "" });
  expect(at("/compact now|")).toBeNull();
  expect(at("see a/b|")).toBeNull();
});

test("an at sign is a mention after a blank, not in an address", () => {
  expect(at("look at @src/ma|in.py now")).toMatchObject({ kind: "mention", query: "src/ma", from: 8, to: 20 });
  expect(at("@|")).toMatchObject({ kind: "mention", query: "" });
  expect(at("me@example.org|")).toBeNull();
  expect(at("@done already|")).toBeNull();
});

test("the choice replaces the token, followed by a space", () => {
  const token = at("look at @ma| please")!;
  expect(completed("look at @ma please", token, "@main.py")).toEqual({ text: "look at @main.py please", caret: 16 });
  expect(completed("@ma", at("@ma|")!, "@main.py")).toEqual({ text: "@main.py ", caret: 9 });
  expect(completed("@sr", at("@sr|")!, "@src/")).toEqual({ text: "@src/", caret: 5 });
});

test("a name with blanks is put in quotes", () => {
  expect(mentionOf("a b.md")).toBe('@"a b.md"');
  expect(mentionOf("ab.md")).toBe("@ab.md");
});
