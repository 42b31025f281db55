// Code and its colours.

import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterAll, beforeAll, expect, test, vi } from "vitest";

import { Code } from "../../src/ui/code";
import { highlight } from "../../src/ui/highlight";
import { languageNamed, languageOf } from "../../src/ui/languages";

beforeAll(() => void vi.stubGlobal("IntersectionObserver", undefined)); // nothing is out of sight: every line is drawn
afterAll(() => void vi.unstubAllGlobals());

const lines = (count: number): string => Array.from({ length: count }, (_, at) => `line ${at + 1}`).join("\n");

test("highlighting works by lines and keeps every character", async () => {
  const code = "/* two\nlines */\nconst a = `x ${1}`;";
  const coloured = (await highlight(code, "typescript"))!;
  expect(coloured.map((line) => line.map((piece) => piece.text).join("")).join("\n")).toBe(code);
  expect(coloured[0]![0]!.look).toBe("comment");
  expect(coloured[1]![0]!.look).toBe("comment");
  expect(coloured[2]!.find((piece) => piece.text === "const")!.look).toBe("keyword");
});

test("a language inside another is coloured too", async () => {
  const coloured = (await highlight("<script>let a;</script>", "xml"))!;
  expect(coloured[0]!.find((piece) => piece.text === "let")!.look).toBe("keyword");
});

test.each(["a", "a\n", "a.", "\n", "function ", "_", "$", "--"])("endless lines are not highlighted, since a grammar would take minutes: %j", async (piece) => {
  const code = piece.repeat(Math.ceil(50_000 / piece.length));
  for (const language of ["ini", "java", "csharp", "typescript", "haskell"]) expect(await highlight(code, language)).toBeNull();
});

test("code is shown at once and coloured soon", async () => {
  const { container } = render(<Code text={"let a = 1;\n"} language="js" />);
  expect(container.querySelector("code")!.textContent).toBe("let a = 1;\n");
  await waitFor(() => expect(container.querySelector(".syntax-keyword")!.textContent).toBe("let"));
});

test("a long output shows its beginning and end until more is wanted", () => {
  const { container } = render(<Code text={lines(1264)} fold />);
  expect(container.textContent).toContain("line 1264");
  expect(container.textContent).not.toContain("line 100\n");
  fireEvent.click(screen.getByRole("button", { name: "1,204 more lines" }));
  expect(container.textContent).toContain("line 100\n");
});

test("unfolded code is shown in full", () => {
  expect(render(<Code text={lines(500)} />).container.textContent).toContain("line 250");
});

test("lines have their numbers, which are not copied", () => {
  const { container } = render(<Code text={"a\nb"} from={41} />);
  expect([...container.querySelectorAll(".code-line")].map((line) => line.getAttribute("data-number"))).toEqual(["41", "42"]);
  expect(container.querySelector("code")!.textContent).toBe("a\nb\n");
});

test("files and fences have a language; names of Object.prototype do not", () => {
  expect(languageOf("/a/b.tsx")).toBe("typescript");
  expect(languageOf("Dockerfile")).toBe("dockerfile");
  expect(languageOf("notes")).toBe("");
  expect(languageNamed("Python title=x")).toBe("python");
  for (const odd of ["constructor", "__proto__", "toString", '"><img']) expect(languageNamed(odd)).toBe("");
});
