// Streaming messages. Stream events update the live rows of their thread until each block is complete.

import type { Event } from "../protocol/messages";
import { isObject, number, object, own, text, type Json } from "../protocol/wire";
import { blankCall, type Sketch } from "./sketch";
import type { Call, Row, State, Thread, Words } from "./state";
import { doing, running } from "./turns";

type Step = (thread: Thread, event: Json, key: string, time: number) => void;

/** The row of a block that has started. Blocks of other types are drawn only when complete. */
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

/** Characters kept of one streaming block. The complete block replaces it, however long it is. */
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
  message_start(thread, event) {
    thread.live = [];
    const id = text(object(event["message"])["id"]);
    // Some CLI versions name the message only here. A client that joins late receives the start again, so the count stays.
    if (id && id !== thread.message.id) thread.message = { id, count: 0 };
  },
  content_block_start(thread, event, key, time) {
    const block = object(event["content_block"]);
    const make = own(BEGUN, text(block["type"]));
    // A client that subscribes mid-block receives the block again from its start.
    const others = thread.live.filter((row) => row.key !== key && row.key !== text(block["id"]));
    if (make) thread.live = [...others.slice(1 - MOST_LIVE), make(block, key, time)];
  },
  content_block_delta(thread, event) {
    const delta = object(event["delta"]);
    const grow = own(DELTAS, text(delta["type"]));
    const last = thread.live.at(-1); // blocks arrive one after the other
    if (grow && last) thread.live = [...thread.live.slice(0, -1), grow(last, delta)];
  },
  message_stop(thread) {
    thread.live = thread.live.filter((row) => row.kind === "call");
  },
};

export function streamed(sketch: Sketch, data: Json, told: Event): void {
  const parent = text(data["parent_tool_use_id"]);
  const thread = parent ? sketch.call(parent) : sketch.state;
  if (!thread) return; // the call of this subagent is older than the loaded events
  const event = object(data["event"]);
  const type = text(event["type"]);
  if (!parent) status(sketch, type, event); // a subagent in the background runs outside of any turn
  const message = text(data["api_message_id"]) || thread.message.id;
  const key = `${message}/${number(event["index"])}`;
  own(STEPS, type)?.(thread, event, key, told.time ?? 0);
  if (isObject(data["abandoned_blocks"])) thread.live = []; // the API gave these blocks up
}

function status(sketch: Sketch, type: string, event: Json): void {
  if (type !== "message_start" && type !== "content_block_start") return;
  running(sketch);
  if (type === "content_block_start") doing(sketch, own(DOING, text(object(event["content_block"])["type"])) ?? "");
}

/** The row of a complete block replaces its streaming row: the one with its key, else the first of its kind. */
export function takeLive(thread: Thread, complete: Row): void {
  const found = thread.live.find((row) => row.key === complete.key) ?? thread.live.find((row) => row.kind === complete.kind);
  if (found) thread.live = thread.live.filter((row) => row !== found);
}

/** After a reconnect the server streams every unfinished block again from its start. */
export function dropLive(sketch: Sketch): void {
  sketch.state.live = [];
  for (const id of sketch.state.open) {
    const call = sketch.call(id);
    if (call?.live.length) call.live = [];
  }
}

/** Streaming rows are not persisted: a state rebuilt from events takes them over from the state it replaces. */
export function keepLive(sketch: Sketch, before: State): void {
  sketch.state.live = before.live;
  const open = new Set(sketch.state.open);
  const walk = (rows: readonly Row[]): void => {
    for (const row of rows) {
      if (row.kind !== "call") continue;
      if (row.live.length && open.has(row.id)) sketch.call(row.id)!.live = row.live;
      walk(row.rows);
    }
  };
  walk(before.rows);
}
