// Diffs.

import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";

import { usePage } from "../../src/state/page";
import { Diff } from "../../src/ui/diff";
import { compare, countOf, hunksOf, rowsOf, type LineRow } from "../../src/ui/diff-rows";

afterEach(cleanup);

beforeAll(() => void vi.stubGlobal("IntersectionObserver", undefined)); // nothing is out of sight: every line is drawn
afterAll(() => void vi.unstubAllGlobals());

const lines = (from: number, to: number): string => Array.from({ length: to - from + 1 }, (_, at) => `line ${from + at}\n`).join("");
const words = (row: LineRow): string => row.marks.map((mark) => (mark.changed ? `[${mark.text}]` : mark.text)).join("");

test("lines have the numbers that they had and have", () => {
  const rows = rowsOf(hunksOf([{ oldStart: 1, oldLines: 3, newStart: 1, newLines: 3, lines: [" Hello", "-World", "+Mars", " line 3"] }])) as LineRow[];
  expect(rows.map((row) => [row.kind, row.before, row.after])).toEqual([["same", 1, 1], ["removed", 2, 0], ["added", 0, 2], ["same", 3, 3]]);
});

test("in a changed line the words that changed are marked, in a new line none", () => {
  const rows = rowsOf(compare("const total = price * count;\n", "const total = price * amount;\nnew\n")) as LineRow[];
  expect(rows.map(words)).toEqual(["const total = price * [count];", "const total = price * [amount];", "new"]);
});

test("lines with nothing in common get no marks", () => {
  const rows = rowsOf(compare("alpha beta gamma\n", "one two three\n")) as LineRow[];
  expect(rows.map(words)).toEqual(["alpha beta gamma", "one two three"]);
});

test("lines between two changes are folded with their count", () => {
  const before = lines(1, 100);
  const after = before.replace("line 10\n", "line ten\n").replace("line 90\n", "line ninety\n");
  const hunks = compare(before, after);
  expect(countOf(hunks)).toEqual({ added: 2, removed: 2 });
  expect(rowsOf(hunks).filter((row) => row.kind === "fold").map((row) => row.kind === "fold" && row.count)).toEqual([6, 73]);
});

test("a fold whose lines are known opens", () => {
  const before = lines(1, 60);
  render(<Diff path="a.txt" hunks={compare(before, `${before}end\n`, 1000)} />);
  expect(screen.queryByText(/line 20/)).toBeNull();
  fireEvent.click(screen.getByRole("button", { name: "57 unchanged lines" }));
  expect(screen.getByText(/line 20/)).toBeTruthy();
});

test("the header shows the file, the counts and that it is new", () => {
  render(<Diff path="src/a.ts" fullPath="/p/src/a.ts" hunks={compare("", "a\nb\n")} created />);
  expect(screen.getByText("new file")).toBeTruthy();
  expect(screen.getByRole("img", { name: "2 lines added" })).toBeTruthy();
  expect(screen.getByRole("button", { name: "Copy path" })).toBeTruthy();
  expect(screen.getByRole("region", { name: "Changes in src/a.ts" }).tabIndex).toBe(0);
});

test("a long diff shows its beginning; before it is allowed all of it", () => {
  const hunks = compare("", lines(1, 1000));
  const { container } = render(<Diff path="a" hunks={hunks} />);
  expect(container.textContent).not.toContain("line 999");
  fireEvent.click(screen.getByRole("button", { name: "700 more lines" }));
  expect(container.textContent).toContain("line 999");
  cleanup();
  expect(render(<Diff path="a" hunks={hunks} whole />).container.textContent).toContain("line 999");
});

test("side by side, removed lines are beside added ones", () => {
  usePage.setState({ sideBySide: true });
  const { container } = render(<Diff path="a" hunks={compare("one\ntwo\n", "one\n2\n3\n")} />);
  const pairs = [...container.querySelectorAll(".diff-pair")].map((pair) => [...pair.children].map((half) => half.textContent!.trim()));
  usePage.setState({ sideBySide: false });
  if (matchMedia("(min-width: 1100px)").matches) expect(pairs).toEqual([["one", "one"], ["−two", "+2"], ["", "+3"]]);
});

test("invalid hunks give no rows, and no error", () => {
  for (const odd of [null, "x", [1], [{ lines: "x" }], [{ oldStart: "1", lines: [1, null] }]]) expect(rowsOf(hunksOf(odd))).toEqual([]);
});
