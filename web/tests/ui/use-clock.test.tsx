// A clock that stood still while it did not matter is right from its first second on.

import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { useClock } from "../../src/ui/use-clock";

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

test("it is right as soon as it is used, and continues from there", () => {
  const { result, rerender } = renderHook(({ matters }) => useClock(matters), { initialProps: { matters: false } });
  vi.setSystemTime(1_060_000);
  rerender({ matters: true });
  expect(result.current).toBe(1_060_000);
  act(() => void vi.advanceTimersByTime(1000));
  expect(result.current).toBe(1_061_000);
});

test("while it does not matter, nothing is drawn again", () => {
  let drawn = 0;
  renderHook(() => (drawn++, useClock(false)));
  act(() => void vi.advanceTimersByTime(5000));
  expect(drawn).toBe(1);
});
