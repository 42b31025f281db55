// Keys and their actions.

import { expect, test } from "vitest";

import { BINDINGS, boundTo, keyNames, matches, type Press } from "../../src/state/keys";
import { strings } from "../../src/strings";
import { ACTIONS, following } from "../../src/views/keys/actions";

const press = (fields: Partial<Press>): Press => ({ key: "", code: "", ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...fields });

test("Mod is Ctrl or Command", () => {
  expect(matches(press({ key: "k", ctrlKey: true }), "Mod+K")).toBe(true);
  expect(matches(press({ key: "k", metaKey: true }), "Mod+K")).toBe(true);
  expect(matches(press({ key: "k" }), "Mod+K")).toBe(false);
  expect(matches(press({ key: "K", ctrlKey: true, shiftKey: true }), "Mod+K")).toBe(false);
});

test("a letter with Alt is read by its position, since Alt types other characters", () => {
  expect(matches(press({ key: "˜", code: "KeyN", altKey: true }), "Alt+N")).toBe(true);
  expect(matches(press({ key: "/", ctrlKey: true, shiftKey: true }), "Mod+/")).toBe(true); // as some keyboards have it
});

test("a single character is a key only outside of text fields; Ctrl+C never is", () => {
  expect(boundTo(press({ key: "?", shiftKey: true }), false)?.id).toBe("keys");
  expect(boundTo(press({ key: "?", shiftKey: true }), true)).toBeUndefined();
  expect(boundTo(press({ key: "c", ctrlKey: true }), false)).toBeUndefined();
  expect(boundTo(press({ key: "y" }), false)).toBeUndefined();
});

test("every key has a label, every global one has an action, and none is a duplicate", () => {
  for (const one of BINDINGS) expect(strings.keys.labels[one.id], one.id).toBeTruthy();
  const globals = BINDINGS.filter((one) => one.global);
  for (const one of globals) expect(ACTIONS[one.id], one.id).toBeTypeOf("function");
  const all = globals.flatMap((one) => one.keys);
  expect(new Set(all).size).toBe(all.length);
});

test("keys are named as on the keyboard", () => {
  expect(keyNames("Mod+K", false)).toEqual(["Ctrl", "K"]);
  expect(keyNames("Alt+ArrowUp", true)).toEqual(["⌥", "↑"]);
});

test("the next session wraps around", () => {
  const all = [{ id: "a" }, { id: "b" }];
  expect(following(all, "b", 1)).toBe("a");
  expect(following(all, "a", -1)).toBe("b");
  expect(following(all, "gone", 1)).toBe("a");
  expect(following([], "a", 1)).toBeUndefined();
});
