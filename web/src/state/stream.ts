// A message while it is written. In: stream events of the main thread. Out: the rows after the last one, until each block is whole.

import type { Event } from "../protocol/messages";
import { isObject, number, object, own, text, type Json } from "../protocol/wire";
import { blankCall, type Sketch } from "./sketch";
import type { Call, Row, Words } from "./state";
import { doing, running } from "./turns";

type Step = (sketch: Sketch, event: Json, key: string, time: number) => void;

/** What is shown of a block that begins, by its type; of others nothing until they are whole. */
const BEGUN: Record<string, (block: Json, key: string, time: number) => Row> = {
  text: (block, key, time) => words("text", key, text(block["text"]), time),
  thinking: (block, key, time) => words("thinking", key, text(block["thinking"]), time),
  tool_use: (block, key, time) => typed(block, key, time),
  server_tool_use: (block, key, time) => typed(block, key, time),
};

const words = (kind: Words["kind"], key: string, said: string, time: number): Words => ({ kind, key, text: said, live: true, redacted: false, uuid: "", source: "model", time });
const typed = (block: Json, _key: string, time: number): Call => {
  const id = text(block["id"]);
  return { ...blankCall(id, id, text(block["name"]), time), input: object(block["input"]), status: "typing" };
};

/** What is longer is not told whole either. So much of it is shown while it is written, and no more kept. */
export const LONGEST_LIVE = 600_000;
export const MOST_LIVE = 100;
const grown = (before: string, more: string): string => (before.length < LONGEST_LIVE ? before + more : before);

const DELTAS: Record<string, (row: Row, delta: Json) => Row> = {
  text_delta: (row, delta) => (row.kind === "text" ? { ...row, text: grown(row.text, text(delta["text"])) } : row),
  thinking_delta: (row, delta) => (row.kind === "thinking" ? { ...row, text: grown(row.text, text(delta["thinking"])) } : row),
  input_json_delta: (row, delta) => (row.kind === "call" ? { ...row, typed: grown(row.typed, text(delta["partial_json"])) } : row),
};

const DOING: Record<string, string> = { thinking: "thinking", redacted_thinking: "thinking", text: "writing", tool_use: "typing" };

const STEPS: Record<string, Step> = {
  message_start(sketch) {
    running(sketch);
    sketch.state.live = [];
  },
  content_block_start(sketch, event, key, time) {
    running(sketch);
    const block = object(event["content_block"]);
    const make = own(BEGUN, text(block["type"]));
    doing(sketch, own(DOING, text(block["type"])) ?? "");
    // A block that begins again begins from nothing: whoever joins late is told what was said so far.
    const others = sketch.state.live.filter((row) => row.key !== key && row.key !== text(block["id"]));
    if (make) sketch.state.live = [...others.slice(1 - MOST_LIVE), make(block, key, time)];
  },
  content_block_delta(sketch, event) {
    const delta = object(event["delta"]);
    const grow = own(DELTAS, text(delta["type"]));
    const rows = sketch.state.live;
    const last = rows.at(-1); // blocks are written one after the other
    if (grow && last) sketch.state.live = [...rows.slice(0, -1), grow(last, delta)];
  },
  message_stop(sketch) {
    sketch.state.live = sketch.state.live.filter((row) => row.kind === "call");
  },
};

export function streamed(sketch: Sketch, data: Json, told: Event): void {
  if (data["parent_tool_use_id"]) return; // of subagents only what is whole is shown
  const event = object(data["event"]);
  const message = text(data["api_message_id"]) || text(object(event["message"])["id"]);
  const key = `${message}/${number(event["index"])}`;
  own(STEPS, text(event["type"]))?.(sketch, event, key, told.time ?? 0);
  if (isObject(data["abandoned_blocks"])) sketch.state.live = []; // they will not be whole any more
}
