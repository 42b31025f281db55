// Turns: when a queued message starts one, what happens in it, how it ends.

import type { Event } from "../protocol/messages";
import { blocks, number, object, objects, plain, text, texts, type Json, type ModelUsage } from "../protocol/wire";
import type { Sketch } from "./sketch";
import type { Call, Context, Said, State, Tone, TurnEnd } from "./state";

const NOTHING: State["turn"] = { running: false, stopped: false, began: 0, doing: "", retry: null };

/** Add a notice to the conversation, or inside the call `parent`. */
export function note(sketch: Sketch, about: string, facts: Json, tone: Tone, event: Event, parent = ""): void {
  sketch.add({ kind: "notice", key: sketch.key(event), about, tone, facts, time: event.time ?? 0 }, parent);
}

/** The CLI started on a message: move it from the queue into the conversation. */
export function begin(sketch: Sketch, uuid: string, time = 0): void {
  const queued = sketch.state.queue.find((one) => one.uuid === uuid);
  if (!queued) return;
  sketch.state.queue = sketch.state.queue.filter((one) => one !== queued);
  sketch.add({ kind: "said", key: `s${uuid}`, uuid, blocks: queued.blocks, by: queued.by, time, doubted: false });
}

/** A message was cancelled by the user, or dropped for the reason `why`. A message already shown becomes a notice. */
export function withdraw(sketch: Sketch, uuid: string, why: string, event: Event): void {
  const queued = sketch.state.queue.find((one) => one.uuid === uuid);
  sketch.state.queue = sketch.state.queue.filter((one) => one !== queued);
  if (queued) {
    if (why) note(sketch, "withdrawn", { why, text: plain(queued.blocks) }, "warning", event);
    return;
  }
  const tone: Tone = why ? "warning" : "quiet";
  const taken = sketch.amend(
    (row): row is Said => row.kind === "said" && row.uuid === uuid,
    (row) => ({ kind: "notice", key: row.key, about: "withdrawn", tone, facts: { why, text: plain(row.blocks) }, time: event.time ?? 0 }),
    20,
  );
  if (!taken && why) note(sketch, "withdrawn", { why }, "warning", event);
}

/** A turn is running. If the CLI does not report which message it started, it is the oldest one handed over. */
export function running(sketch: Sketch, time = 0): void {
  const { turn, queue, lifecycle } = sketch.state;
  if (turn.running) return;
  sketch.state.turn = { ...NOTHING, running: true, began: time };
  const next = queue.find((one) => one.handed);
  if (next && !lifecycle) begin(sketch, next.uuid, time);
}

/** A message was written to the CLI. It starts at once if nothing runs and no other message is ahead of it. */
export function hand(sketch: Sketch, uuid: string, time = 0): void {
  const first = !sketch.state.turn.running && !sketch.state.queue.some((one) => one.handed);
  sketch.state.queue = sketch.state.queue.map((one) => (one.uuid === uuid ? { ...one, handed: true } : one));
  running(sketch, time);
  if (first) begin(sketch, uuid, time);
}

/** Nothing runs: every message handed over was started, and open calls get no result. */
export function rest(sketch: Sketch, time = 0): void {
  for (const one of sketch.state.queue) if (one.handed) begin(sketch, one.uuid, time);
  if (!sketch.state.turn.running && sketch.state.live.length === 0) return;
  sketch.state.turn = NOTHING;
  sketch.state.live = [];
  leaveCalls(sketch);
}

/** Set the status line of the running turn. */
export function doing(sketch: Sketch, what: string): void {
  if (sketch.state.turn.doing !== what || sketch.state.turn.retry) sketch.state.turn = { ...sketch.state.turn, doing: what, retry: null };
}

/** Start the messages that a frame names. */
export function beginAll(sketch: Sketch, data: Json, time = 0): void {
  for (const uuid of [...texts(data["user_message_uuids"]), text(data["user_message_uuid"])]) begin(sketch, uuid, time);
}

/** Older CLIs leave out `is_error`, or set it to false for the limits on turns and budget; the subtype is reliable. */
const isFailed = (data: Json): boolean => data["is_error"] === true || text(data["subtype"]).startsWith("error");

/** A result, or the event that replaces it after a crash. */
export function endTurn(sketch: Sketch, data: Json, event: Event): void {
  const time = event.time ?? 0;
  const key = text(data["uuid"]) || sketch.key(event);
  const parent = text(data["parent_tool_use_id"]);
  if (parent) return endSubagent(sketch, data, time, key, parent);
  beginAll(sketch, data, time);
  if (!sketch.state.turn.running && !data["imported"]) running(sketch, time); // a prompt blocked by a hook has a result and nothing else
  const { stopped } = sketch.state.turn;
  sketch.state.live = [];
  leaveCalls(sketch, !isFailed(data));
  const cost = costOf(sketch.state, data);
  const models = object(data["modelUsage"]) as Record<string, ModelUsage>;
  sketch.state.cost = cost;
  sketch.state.context = contextOf(sketch.state.context, models, sketch.state.model);
  sketch.state.turn = NOTHING;
  // The CLI also counts stopped calls, skipped questions and plans to be revised.
  const isDenial = (told: Json): boolean => !["interrupted", "declined"].includes(sketch.call(text(told["tool_use_id"]))?.status ?? "");
  sketch.add(turnEnd(data, time, key, cost, stopped, isDenial));
}

/** The result of a subagent ends no turn, and its cost is part of the turn's own result. Only a failure is shown. */
function endSubagent(sketch: Sketch, data: Json, time: number, key: string, parent: string): void {
  const call = sketch.call(parent);
  if (call) call.live = [];
  const end = turnEnd(data, time, key, { ...sketch.state.cost, turn: 0 }, false);
  if (end.problem) sketch.add(end, parent);
}

/** `total_cost_usd` is the session's total. The cost of a turn is reported separately, or is the difference. */
function costOf({ cost: before, first }: State, data: Json): State["cost"] {
  const duration = before.duration + number(data["duration_ms"]);
  if (data["total_cost_usd"] === undefined) return { ...before, turn: 0, duration };
  const total = number(data["total_cost_usd"]);
  const models = object(data["modelUsage"]) as Record<string, ModelUsage>;
  const told = data["model_usage_since_last_result"];
  const sinceLast = Object.values(object(told)).reduce<number>((sum, one) => sum + number(object(one)["costUSD"]), 0);
  // The total restarts after /clear. If older events are missing, the difference is unknown.
  const added = total < before.total ? total : before.total === 0 && first > 1 ? 0 : total - before.total;
  return { total, turn: told === undefined ? added : sinceLast, duration, models };
}

/** `stopped`: the user interrupted the turn; older CLIs report this only as a message in the conversation. */
function turnEnd(data: Json, time: number, key: string, cost: State["cost"], stopped: boolean, isDenial: (told: Json) => boolean = () => true): TurnEnd {
  const failed = isFailed(data);
  const usage = object(data["usage"]);
  const subtype = text(data["subtype"]);
  const reason = text(data["terminal_reason"]) || (failed && stopped && subtype === "error_during_execution" ? "aborted_streaming" : "");
  const ended = reason === "hook_stopped" || reason === "tool_deferred" ? reason : "";
  const told = [...texts(data["errors"]), ...[data["result"], data["error"]].filter((one): one is string => typeof one === "string" && one !== "")];
  return {
    kind: "end",
    key,
    problem: failed ? reason || subtype || "error" : ended,
    errors: failed ? [...new Set(told)] : [],
    cost: cost.turn,
    total: cost.total,
    duration: number(data["duration_ms"]),
    tokens: { input: number(usage["input_tokens"]) + number(usage["cache_read_input_tokens"]) + number(usage["cache_creation_input_tokens"]), output: number(usage["output_tokens"]) },
    denials: objects(data["permission_denials"]).filter(isDenial).map((one) => ({ tool: text(one["tool_name"]), input: object(one["tool_input"]) })),
    time,
  };
}

/** Close the open calls, except those of running background tasks. After a successful turn with an undelivered event they count as done. */
export function leaveCalls(sketch: Sketch, well = false): void {
  const going = new Set(sketch.state.background.filter((one) => one.status === "running").map((one) => one.id));
  sketch.leave((line) => !line.some((call) => going.has(call.task)), well && sketch.state.missed ? "done" : "interrupted");
  sketch.state.missed = false;
}

function contextOf(known: Context, models: Record<string, ModelUsage>, model: string): Context {
  const told = models[model] ?? Object.values(models).toSorted((a, b) => number(b.contextWindow) - number(a.contextWindow))[0];
  return { ...known, total: number(told?.contextWindow) || known.total };
}

/** Tools that let the user choose: any other answer than yes is no denial. */
export const isChoice = (tool: string): boolean => tool === "ExitPlanMode" || tool === "AskUserQuestion";

/** Results of interrupted calls, as the CLI and the embedded agent write them. */
const INTERRUPTED = /interrupted by user|doesn't want to proceed|does not want this tool to be used now/;

/** Attach a tool result to its call. */
export function settle(sketch: Sketch, id: string, block: Json, line: Json, time: number): Call | undefined {
  const call = sketch.call(id);
  if (!call) return undefined;
  const meta = objects(line["tool_result_meta"]).find((one) => one["id"] === id) ?? {};
  const { decision, source } = object(meta["permission_decision"]);
  const failed = block["is_error"] === true;
  const said = text(object(blocks(block["content"])[0])["text"]);
  const interrupted = failed && INTERRUPTED.test(said);
  const denied = decision === "deny" || (decision === "reject" && source === "hook") || call.status === "denied" || call.status === "declined";
  call.result = blocks(block["content"]);
  call.detail = line["tool_use_result"];
  call.ended = time;
  call.elapsed = 0; // start and end give the exact time
  call.printed = "";
  call.live = [];
  if (!failed) call.status = "done";
  else if ((denied || interrupted) && isChoice(call.name)) call.status = "declined";
  else call.status = denied ? "denied" : interrupted ? "interrupted" : "failed";
  sketch.settled(id);
  return call;
}
