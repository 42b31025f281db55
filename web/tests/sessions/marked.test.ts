import { expect, test } from "vitest";

import { marked } from "../../src/views/sessions/marked";

const shown = (text: string, query: string) => marked(text, query).map((piece) => (piece.found ? `[${piece.text}]` : piece.text)).join("");

test("beginnings of words are marked, in any letters", () => {
  expect(shown("The Login form logs in; relogin", "log")).toBe("The [Log]in form [log]s in; relogin");
});

test("signs of regular expressions are only signs", () => {
  expect(shown("a.*b (c)", ".* (")).toBe("a.*b (c)");
  expect(shown("a.*b (c)", "b) c")).toBe("a.*[b] ([c])");
});

test("nothing of the text is lost", () => {
  const text = "…ünïcode <b>und</b> ünten…";
  expect(marked(text, "ün b").map((piece) => piece.text).join("")).toBe(text);
});
