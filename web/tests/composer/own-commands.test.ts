// Commands of the page.

import { beforeEach, expect, test } from "vitest";

import { usePage } from "../../src/state/page";
import { runOwn } from "../../src/views/composer/own-commands";

beforeEach(() => usePage.setState({ panel: "", dialog: "" }));

test.each([["/config", "settings"], ["/fast", "settings"], ["/help", "help"]])("%s opens %s", (typed, panel) => {
  expect(runOwn(typed)).toBe(true);
  expect(usePage.getState().panel).toBe(panel);
  expect(runOwn(typed)).toBe(true);
  expect(usePage.getState().panel).toBe(panel); // it does not close what is open
});

test("the keys have a dialog", () => {
  expect(runOwn("/keybindings-help ")).toBe(true);
  expect(usePage.getState().dialog).toBe("keys");
});

test("a command with arguments, or another command, is sent", () => {
  for (const typed of ["/help me", "/compact", "help", "/", "/constructor"]) expect(runOwn(typed)).toBe(false);
});
