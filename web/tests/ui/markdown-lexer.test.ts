// Texts that were made to hold the page up. Each took marked seconds to minutes; the patience of a test is the limit here.

import { expect, test } from "vitest";

import { parse } from "../../src/ui/markdown-blocks";
import { lexed } from "../../src/ui/markdown-lexer";

const LONG = 100_000;
const long = (piece: string): string => piece.repeat(Math.ceil(LONG / piece.length));

const PIECES = ["*a ", "**a *b ", "_a ", "~a ", "~~a ~b", "a*b_c", "*_", `${"*".repeat(50)}a`, "[", "![", "[a](", "[a](((", "<", "<!--", "<a b=\"", "`a``b ", "&#", "\\", "a@", "http://a.", "[a][b", "- [ ] a\n", "- a\n", "1. a\n", "> a\n", "|a|b|\n", "a|b\n-|-\n", "```\n", "[a]: ", " ", "\t"];

test.each(PIECES)("a hundred thousand characters of %j are read at once", (piece) => {
  expect(parse(long(piece)).text).toHaveLength(long(piece).length);
});

test.each(["> ", "1. ", "- ", ">"])("marks that nest without end are text: %j", (piece) => {
  expect(lexed(long(piece), {})).toBeNull();
});

test("a run of blanks in the middle is not read again from each of its places", () => {
  expect(parse(`a${" ".repeat(LONG)}b [a](${" ".repeat(LONG / 2)}`).tokens.length).toBeGreaterThan(0);
});

test("many paragraphs that are each just cheap enough share one limit", () => {
  const one = `${"*a ".repeat(400)}\n\n`;
  const inner = lexed(one.repeat(60), {})!.filter((token) => token.type === "paragraph").map((token) => (token as { tokens: { type: string }[] }).tokens.length);
  expect(inner).toHaveLength(60);
  expect(inner.at(-1)).toBe(1); // as text
});

test("ordinary text is parsed as before, also if it is long", () => {
  const written = "Some **bold** words, *slanted* ones and `code`, with a [link](https://example.org/a_b_c).\n\n- one **item**\n- another\n\n".repeat(700);
  const tokens = lexed(written, {})!;
  const last = tokens.findLast((token) => token.type === "paragraph") as { tokens: { type: string }[] };
  expect(last.tokens.map((token) => token.type)).toContain("strong");
});
