// History of the composer.

import { expect, test } from "vitest";

import type { Said } from "../../src/state/state";
import { historyOf } from "../../src/views/composer/history";

const said = (text: string): Said => ({ kind: "said", key: text, uuid: text, blocks: [{ type: "text", text }], by: "", time: 0, doubted: false });

test("queued messages first, then the newest; no repeats, nothing empty", () => {
  const queue = [{ uuid: "q", blocks: [{ type: "text", text: "waits" }], by: "", handed: false, held: false }];
  expect(historyOf([said("a"), said("b"), said("b"), said(" "), said("c")], queue)).toEqual(["waits", "c", "b", "a"]);
});
