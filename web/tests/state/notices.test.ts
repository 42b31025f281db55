// Toasts: most disappear by themselves; reports of a failure stay.

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { dismiss, tell, tellUntilDismissed, useNotices } from "../../src/state/notices";

beforeEach(() => {
  vi.useFakeTimers();
  useNotices.setState({ all: [] });
});
afterEach(() => vi.useRealTimers());

const shown = () => useNotices.getState().all.map((one) => one.text);

test("a toast disappears after a while, an error later", () => {
  tell("copied");
  tell("refused", "error");
  vi.advanceTimersByTime(5000);
  expect(shown()).toEqual(["refused"]);
  vi.advanceTimersByTime(8000);
  expect(shown()).toEqual([]);
});

test("an undelivered answer stays until dismissed, however many toasts follow", () => {
  tellUntilDismissed("not delivered");
  for (const word of ["a", "b", "c", "d", "e", "f"]) tell(word);
  expect(shown()).toEqual(["not delivered", "c", "d", "e", "f"]);
  vi.advanceTimersByTime(600_000);
  expect(shown()).toEqual(["not delivered"]);
  dismiss(useNotices.getState().all[0]!.id);
  expect(shown()).toEqual([]);
});
