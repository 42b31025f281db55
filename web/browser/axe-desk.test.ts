// The light page on a desk: axe and focus rings in every state.

import { expect, test } from "vitest";

import { faultsInEveryState } from "./every-state";

test("every state is accessible on a desk", { timeout: 480_000 }, async () => {
  expect(await faultsInEveryState({})).toEqual([]);
});
