// Output of programs.

import { expect, test } from "vitest";

import { terminal, unstyled } from "../../src/ui/ansi";

const E = "\u001B";

test("colours and styles become looks", () => {
  expect(terminal(`${E}[1;31mbad${E}[0m ok`)).toEqual([[{ text: "bad", look: "ansi-red ansi-bold" }, { text: " ok", look: "" }]]);
  expect(terminal(`${E}[4mu${E}[24m${E}[7mi${E}[27m`)[0]).toEqual([{ text: "u", look: "ansi-underline" }, { text: "i", look: "ansi-paper ansi-on-ink" }]);
  expect(terminal(`${E}[97;44mx`)[0]![0]!.look).toBe("ansi-white ansi-on-blue");
  expect(terminal("\u009B32mx")[0]![0]!.look).toBe("ansi-green");
});

test("256 and true colours become the nearest of the page's", () => {
  expect(terminal(`${E}[38;5;196mx`)[0]![0]!.look).toBe("ansi-red");
  expect(terminal(`${E}[38;2;10;200;30mx`)[0]![0]!.look).toBe("ansi-green");
  expect(terminal(`${E}[38;5;250;1mx`)[0]![0]!.look).toBe("ansi-white ansi-bold");
});

test("a style lasts over lines until it ends", () => {
  expect(terminal(`${E}[32ma\nb${E}[0m`).map((line) => line[0]!.look)).toEqual(["ansi-green", "ansi-green"]);
});

test.each([
  [`${E}]8;;javascript:alert(1)\u0007click${E}]8;;\u0007`, "click"],
  [`${E}]52;c;cHduZWQ=\u0007x`, "x"],
  [`${E}]0;title${E}\\x`, "x"],
  [`a${E}[2J${E}[1;1Hb`, "ab"],
  [`${E}[?25lx${E}(B`, "x"],
  [`${E}Pq#0;2${E}\\x`, "x"],
  [`a\u0007\u0000b`, "ab"],
  [`x${E}[`, "x"],
])("%j shows only %j", (output, shown) => {
  expect(unstyled(output)).toBe(shown);
});

test("text hidden by a style is visible", () => {
  expect(unstyled(`${E}[8msecret${E}[0m`)).toBe("secret");
});

test("a progress bar shows its last state", () => {
  expect(unstyled("10%\r50%\r100%\ndone\n")).toBe("100%\ndone\n");
  expect(unstyled(`a${E}[2K\rb`)).toBe("b");
  expect(unstyled("kept\r\nnext")).toBe("kept\nnext");
  expect(unstyled("kept\r")).toBe("kept");
  expect(unstyled("ab\bc")).toBe("ac");
});

test("a megabyte of broken sequences is read once, and shows nothing", () => {
  expect(terminal(`${E}[`.repeat(500_000))).toEqual([[]]);
  expect(terminal(`${E}]`.repeat(500_000))).toEqual([[]]);
});
