// Slimmed events.

import { expect, test } from "vitest";

import type { Event } from "../../src/protocol/messages";
import { replay } from "../../src/state/reduce";
import { slim } from "../../src/state/slim";

const result = (fields: Record<string, unknown>): Event => ({ kind: "frame", seq: 1, time: 1, data: { type: "result", uuid: "r", result: "All of it again.", ...fields } });

test("a result does not hold the answer a second time, and shows the same", () => {
  const event = result({ subtype: "success", is_error: false, total_cost_usd: 1 });
  expect(slim(event).data).not.toHaveProperty("result");
  expect(replay([slim(event)])).toEqual(replay([event]));
});

test("why a turn failed is kept", () => {
  const event = result({ subtype: "success", is_error: true });
  expect(slim(event)).toBe(event);
});

test("other events are kept unchanged", () => {
  const said: Event = { kind: "said", seq: 2, time: 1, data: { uuid: "u", content: "result" } };
  expect(slim(said)).toBe(said);
  expect(slim({ kind: "frame", seq: 3, bytes: 10 })).toEqual({ kind: "frame", seq: 3, bytes: 10 });
});
