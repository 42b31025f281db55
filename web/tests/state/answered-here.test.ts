// The browser remembers its own answers across visits.

import { beforeEach, expect, test, vi } from "vitest";

beforeEach(() => {
  localStorage.clear();
  vi.resetModules();
});

const fresh = async () => (await import("../../src/state/answered-here")).answeredHere;

test("an answer given here is known after a reload; one that was not taken is not", async () => {
  const before = await fresh();
  before.add("taken");
  before.add("refused");
  before.delete("refused");
  vi.resetModules();
  const after = await fresh();
  expect(after).not.toBe(before);
  expect([after.has("taken"), after.has("refused"), after.has("elsewhere")]).toEqual([true, false, false]);
});

test("only the newest are kept", async () => {
  const before = await fresh();
  for (let at = 0; at < 400; at += 1) before.add(`q${at}`);
  vi.resetModules();
  const after = await fresh();
  expect([after.has("q0"), after.has("q399")]).toEqual([false, true]);
});
