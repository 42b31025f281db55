// The dark page on a phone: axe and focus rings in every state.

import { expect, test } from "vitest";

import { faultsInEveryState } from "./every-state";
import { PHONE } from "./visitor";

test("every state is accessible on a phone in the dark", { timeout: 480_000 }, async () => {
  expect(await faultsInEveryState({ dark: true, size: PHONE, touch: true })).toEqual([]);
});
