// Calls for tests: by hand, or out of recordings of the real CLI. In: what differs. Out: a call as the state holds it.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import type { Event } from "../../src/protocol/messages";
import { blocks } from "../../src/protocol/wire";
import { replay } from "../../src/state/reduce";
import type { Call } from "../../src/state/state";

export function callOf(name: string, input: Record<string, unknown>, fields: Partial<Omit<Call, "result">> & { result?: unknown } = {}): Call {
  const blank = { kind: "call", key: "k", id: "t", typed: "", status: "done", detail: undefined, title: "", elapsed: 0, began: 0, ended: 0, task: "", rows: [] } as const;
  return { ...blank, rows: [], name, input, ...fields, result: blocks(fields.result) };
}

interface Recorded {
  recording: string;
  use: Record<string, unknown>;
  result: Record<string, unknown>;
}

const RECORDED = JSON.parse(readFileSync(resolve(import.meta.dirname, "../fixtures/calls.json"), "utf8")) as Recorded[];

/** Every shape of a call that the recordings of the real CLI have, as the page would hold it. */
export const recorded: { recording: string; call: Call }[] = RECORDED.map(({ recording, use, result }) => {
  const events = [use, result].map((data, at): Event => ({ kind: "frame", seq: at + 1, time: 1000 * (at + 1), data }));
  return { recording, call: replay(events).rows.find((row): row is Call => row.kind === "call")! };
});
