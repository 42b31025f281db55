// Handlers for the CLI's frames, by type. A frame of another type is shown as unknown.

import type { Event } from "../protocol/messages";
import { blocks, number, object, objects, own, text, type Block, type Json } from "../protocol/wire";
import { blankCall, type Sketch } from "./sketch";
import { contextFrom } from "./context-text";
import { streamed, takeLive } from "./stream";
import { SUBAGENT_SYSTEM, SYSTEM } from "./system";
import { follow } from "./tasks";
import { begin, beginAll, doing, endTurn, note, running, settle, withdraw } from "./turns";
import type { Call, Row, Thread } from "./state";

type Frame = (sketch: Sketch, data: Json, event: Event) => void;

export const FRAMES: Record<string, Frame> = {
  system(sketch, data, event) {
    const parent = text(data["parent_tool_use_id"]);
    const handler = own(parent ? SUBAGENT_SYSTEM : SYSTEM, text(data["subtype"]));
    if (handler) handler(sketch, data, event);
    else sketch.add({ kind: "unknown", key: sketch.key(event), what: `system/${text(data["subtype"])}`, data, time: event.time ?? 0 }, parent);
  },
  stream_event: streamed,
  assistant,
  user,
  result: endTurn,
  tool_progress(sketch, data) {
    const id = text(data["tool_use_id"]);
    const call = sketch.call(id) ?? sketch.call(id.replace(/-heartbeat-\d+$/, "")) ?? sketch.call(text(data["parent_tool_use_id"]));
    if (!call) return;
    call.elapsed = number(data["elapsed_time_seconds"]);
    if (data["output"] !== undefined) call.printed = text(data["output"]);
  },
  command_lifecycle(sketch, data, event) {
    sketch.state.lifecycle = true;
    own(LIFECYCLE, text(data["state"]))?.(sketch, data, event);
  },
  conversation_reset(sketch, _data, event) {
    sketch.state.tasks = [];
    sketch.state.context = { ...sketch.state.context, used: 0, categories: [] };
    sketch.state.cost = { ...sketch.state.cost, total: 0, turn: 0, models: {} };
    note(sketch, "cleared", {}, "info", event);
  },
  rate_limit_event(sketch, data, event) {
    const info = object(data["rate_limit_info"]);
    if (info["status"] !== "allowed") note(sketch, "rate_limit", { ...info }, "warning", event);
  },
  auth_status(sketch, data, event) {
    if (data["error"]) note(sketch, "auth_failed", { error: data["error"] }, "error", event);
  },
  error(sketch, data, event) {
    note(sketch, "informational", { text: text(object(data["error"])["message"]) || text(data["error"]) || text(data["message"]) }, "error", event);
  },
  tool_use_summary() {}, // the calls it summarises are shown
  prompt_suggestion() {},
  keep_alive() {},
  control_request() {}, // the server sends an `asked` event
  control_response() {},
  control_cancel_request() {},
};

/** States of a message handed to the CLI (`command_lifecycle`). */
const LIFECYCLE: Record<string, Frame> = {
  started(sketch, data, event) {
    begin(sketch, text(data["command_uuid"]), event.time);
    running(sketch, event.time);
  },
  completed(sketch, data, event) {
    begin(sketch, text(data["command_uuid"]), event.time);
  },
  cancelled(sketch, data, event) {
    const queued = sketch.state.queue.some((one) => one.uuid === data["command_uuid"]);
    if (queued) withdraw(sketch, text(data["command_uuid"]), "", event); // otherwise its turn was stopped, and the result says so
  },
};

function assistant(sketch: Sketch, data: Json, event: Event): void {
  const parent = text(data["parent_tool_use_id"]);
  const message = object(data["message"]);
  if (!parent) {
    if (!data["imported"]) running(sketch, event.time); // a subagent in the background runs outside of any turn
    measure(sketch, message);
    doing(sketch, "");
    beginAll(sketch, data, event.time);
  }
  const thread = parent ? sketch.callOrUnseen(parent, event.time ?? 0) : sketch.state;
  for (const block of blocks(message["content"])) {
    const key = nextKey(thread, text(message["id"]) || text(data["uuid"]) || sketch.key(event));
    if (block.type.endsWith("tool_result")) {
      settled(sketch, block, data, event.time ?? 0, parent);
      continue;
    }
    const row = rowOf(block, data, event.time ?? 0, key);
    takeLive(thread, row);
    if (row.kind === "call") called(sketch, row, data, parent);
    else sketch.add(row, parent);
    if (row.kind === "text" && row.source === "local") readContext(sketch, row.text);
  }
}

/** The output of `/context` fills the gauge for CLIs without a structured answer. */
function readContext(sketch: Sketch, output: string): void {
  const context = contextFrom(output);
  if (context) sketch.state.context = context;
}

/** The complete frame of a call. A question about it, or a frame of its subagent, may have arrived earlier. */
function called(sketch: Sketch, row: Call, data: Json, parent: string): void {
  const known = sketch.call(row.id);
  if (known) Object.assign(known, { name: row.name, title: row.title, ...(!known.edited && { input: row.input }) });
  else {
    if (sketch.state.questions.some((one) => one.request["tool_use_id"] === row.id)) row.status = "waiting";
    if (data["imported"]) row.status = "interrupted"; // until a result follows
    sketch.add(row, parent);
  }
  follow(sketch, known ?? row);
}

/** The key of a complete block is the one it had while streaming, so its row is not remounted: message id and index. */
function nextKey(thread: Thread, id: string): string {
  const count = thread.message.id === id ? thread.message.count : 0;
  thread.message = { id, count: count + 1 };
  return `${id}/${count}`;
}

/** The usage of the main thread's last message is the size of the context. */
function measure(sketch: Sketch, message: Json): void {
  const usage = object(message["usage"]);
  const used = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"].reduce((sum, name) => sum + number(usage[name]), 0);
  if (used && message["model"] !== "<synthetic>") sketch.state.context = { ...sketch.state.context, used, categories: [] };
}

const BLOCKS: Record<string, (block: Block, key: string, data: Json, time: number) => Row> = {
  text(block, key, data, time) {
    const source = data["is_api_error_message"] ? "error" : data["local_command_source"] ? "local" : "model";
    return { kind: "text", key, text: text(block["text"]), live: false, redacted: false, uuid: text(data["uuid"]), source, time };
  },
  thinking(block, key, data, time) {
    return { kind: "thinking", key, text: text(block["thinking"]), live: false, redacted: false, uuid: text(data["uuid"]), source: "model", time };
  },
  redacted_thinking(_block, key, data, time) {
    return { kind: "thinking", key, text: "", live: false, redacted: true, uuid: text(data["uuid"]), source: "model", time };
  },
  tool_use(block, key, data, time) {
    const meta = objects(data["tool_use_meta"]).find((one) => one["id"] === block["id"]) ?? {};
    return { ...blankCall(key, text(block["id"]), text(block["name"]), time), input: object(block["input"]), title: text(meta["display_name"]) };
  },
};
BLOCKS["server_tool_use"] = BLOCKS["mcp_tool_use"] = BLOCKS["tool_use"]!;

function rowOf(block: Block, data: Json, time: number, place: string): Row {
  const key = text(block["id"]) || place;
  const make = own(BLOCKS, block.type);
  if (make) return make(block, key, data, time);
  return { kind: "unknown", key, what: block.type, data: block, time };
}

const LOCAL = /^<local-command-(stdout|stderr)>([\s\S]*?)<\/local-command-\1>$/;
/** Longer messages are not searched for a command. */
const LONGEST_COMMAND = 20_000;
const COMMAND = /<command-name>([\s\S]*?)<\/command-name>/;
const ARGUMENTS = /<command-args>([\s\S]*?)<\/command-args>/;

function user(sketch: Sketch, data: Json, event: Event): void {
  const parent = text(data["parent_tool_use_id"]);
  const content = blocks(object(data["message"])["content"]);
  const results = content.filter((block) => block.type.endsWith("tool_result"));
  for (const block of results) settled(sketch, block, data, event.time ?? 0, parent);
  const rest = content.filter((block) => !results.includes(block));
  if (rest.length) heard(sketch, rest, data, event, parent);
}

/** A result. If its call is older than the loaded events, loading those shows both. */
function settled(sketch: Sketch, block: Block, data: Json, time: number, parent: string): void {
  const id = text(block["tool_use_id"]);
  const call = settle(sketch, id, block, data, time);
  if (call) follow(sketch, call);
  else if (sketch.state.first <= 1) sketch.add({ kind: "unknown", key: `r${id}`, what: "tool_result", data: block, time }, parent);
}

/** A frame with the role `user`: a message of the user, or one the CLI wrote. */
function heard(sketch: Sketch, content: Block[], data: Json, event: Event, parent: string): void {
  const said = content.map((block) => text(block["text"])).join("\n").trim();
  const uuid = text(data["uuid"]);
  const time = event.time ?? 0;
  const local = LOCAL.exec(said);
  if (local) {
    const source = local[1] === "stderr" ? "error" : "local";
    const words = local[2]!.trim();
    if (words) sketch.add({ kind: "text", key: uuid || sketch.key(event), text: words, live: false, redacted: false, uuid, source, time }, parent);
    if (!parent && source === "local") readContext(sketch, words);
    return;
  }
  if (said.startsWith("[Request interrupted by user")) {
    // The end of a live turn says that it was stopped. Subagents and transcripts lack that row.
    if (parent || data["imported"]) note(sketch, "interrupted", {}, "info", event, parent);
    else sketch.state.turn = { ...sketch.state.turn, stopped: true };
    return;
  }
  if (parent) return note(sketch, "subagent_told", { text: said }, "quiet", event, parent);
  if (data["isSynthetic"] || data["isMeta"] || data["isCompactSummary"]) return note(sketch, "synthetic", { text: said }, "quiet", event);
  if (data["isReplay"]) return begin(sketch, uuid, time); // the server's `said` event has the message
  if (!data["imported"]) return note(sketch, "synthetic", { text: said }, "quiet", event);
  sketch.add({ kind: "said", key: `s${uuid}`, uuid, blocks: commanded(said) ?? content, by: "", time, doubted: false });
}

/** A slash command as typed; transcripts store it as tags. */
function commanded(whole: string): Block[] | undefined {
  const said = whole.slice(0, LONGEST_COMMAND);
  const name = COMMAND.exec(said)?.[1]?.trim();
  return name ? [{ type: "text", text: [name, ARGUMENTS.exec(said)?.[1]?.trim()].filter(Boolean).join(" ") }] : undefined;
}
