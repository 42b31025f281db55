// Test files of logic share a window and the loaded modules (isolate: false), so each leaves them as in a page that was just opened.

import { afterAll, vi } from "vitest";

import { forgetAll } from "../src/state/forget";

afterAll(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  forgetAll();
  localStorage.clear();
  sessionStorage.clear();
});
