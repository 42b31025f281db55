// Calls for tests: built by hand, or reduced from recordings of the real CLI.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import type { Event } from "../../src/protocol/messages";
import { blocks } from "../../src/protocol/wire";
import { replay } from "../../src/state/reduce";
import { blankCall } from "../../src/state/sketch";
import type { Call } from "../../src/state/state";

export function callOf(name: string, input: Record<string, unknown>, fields: Partial<Omit<Call, "result">> & { result?: unknown } = {}): Call {
  return { ...blankCall("k", "t", name, 0), status: "done", input, ...fields, result: blocks(fields.result) };
}

interface Recorded {
  recording: string;
  use: Record<string, unknown>;
  result: Record<string, unknown>;
}

const RECORDED = JSON.parse(readFileSync(resolve(import.meta.dirname, "../fixtures/calls.json"), "utf8")) as Recorded[];

/** Every shape of a call in the recordings, reduced to a row. */
export const recorded: { recording: string; call: Call }[] = RECORDED.map(({ recording, use, result }) => {
  const events = [use, result].map((data, at): Event => ({ kind: "frame", seq: at + 1, time: 1000 * (at + 1), data }));
  return { recording, call: replay(events).rows.find((row): row is Call => row.kind === "call")! };
});
