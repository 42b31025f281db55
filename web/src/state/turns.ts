// Turns: how a message gets its turn, what is told in it, how it ends. In: a sketch. Out: the sketch, changed.

import type { Event } from "../protocol/messages";
import { blocks, number, object, objects, plain, text, texts, type Json, type ModelUsage } from "../protocol/wire";
import type { Sketch } from "./sketch";
import type { Call, Context, Said, State, Tone, TurnEnd } from "./state";

const NOTHING: State["turn"] = { running: false, began: 0, doing: "", retry: null };

/** A word of the page, in the stream. */
export function note(sketch: Sketch, about: string, facts: Json, tone: Tone, event: Event, parent = ""): void {
  sketch.add({ kind: "notice", key: sketch.key(event), about, tone, facts, time: event.time ?? 0 }, parent);
}

/** A message of the user is taken up: it leaves the queue and stands in the conversation. */
export function begin(sketch: Sketch, uuid: string, time = 0): void {
  const queued = sketch.state.queue.find((one) => one.uuid === uuid);
  if (!queued) return;
  sketch.state.queue = sketch.state.queue.filter((one) => one !== queued);
  sketch.add({ kind: "said", key: `s${uuid}`, uuid, blocks: queued.blocks, by: queued.by, time, doubted: false });
}

/** A message is taken back, or the CLI did away with it. What stood in the conversation already is not there for nothing. */
export function withdraw(sketch: Sketch, uuid: string, why: string, event: Event): void {
  const waited = sketch.state.queue.some((one) => one.uuid === uuid);
  sketch.state.queue = sketch.state.queue.filter((one) => one.uuid !== uuid);
  if (why || !waited) {
    const taken = sketch.amend(
      (row): row is Said => !waited && row.kind === "said" && row.uuid === uuid,
      (row) => ({ kind: "notice", key: row.key, about: "withdrawn", tone: "quiet", facts: { why, text: plain(row.blocks) }, time: event.time ?? 0 }),
      20,
    );
    if (!taken && why) note(sketch, "withdrawn", { why }, "quiet", event);
  }
}

/** Something runs, whatever said so. Of a CLI that does not say which message it takes up, it is the one that waits longest. */
export function running(sketch: Sketch, time = 0): void {
  const { turn, queue, lifecycle } = sketch.state;
  if (turn.running) return;
  sketch.state.turn = { ...NOTHING, running: true, began: time };
  const next = queue.find((one) => one.handed);
  if (next && !lifecycle) begin(sketch, next.uuid, time);
}

/** A message is given to the CLI. Where nothing runs and nothing else waits there, it begins; else it waits for its turn. */
export function hand(sketch: Sketch, uuid: string, time = 0): void {
  const first = !sketch.state.turn.running && !sketch.state.queue.some((one) => one.handed);
  sketch.state.queue = sketch.state.queue.map((one) => (one.uuid === uuid ? { ...one, handed: true } : one));
  running(sketch, time);
  if (first) begin(sketch, uuid, time);
}

/** Nothing runs any more: whatever was handed over has been taken up, and has no result to wait for. */
export function rest(sketch: Sketch, time = 0): void {
  for (const one of sketch.state.queue) if (one.handed) begin(sketch, one.uuid, time);
  if (!sketch.state.turn.running && sketch.state.live.length === 0) return;
  sketch.state.turn = NOTHING;
  sketch.state.live = [];
  leaveCalls(sketch);
}

/** What is said of the turn while it runs. */
export function doing(sketch: Sketch, what: string): void {
  if (sketch.state.turn.doing !== what || sketch.state.turn.retry) sketch.state.turn = { ...sketch.state.turn, doing: what, retry: null };
}

/** The messages that a line says it belongs to. */
export function beginAll(sketch: Sketch, data: Json, time = 0): void {
  for (const uuid of [...texts(data["user_message_uuids"]), text(data["user_message_uuid"])]) begin(sketch, uuid, time);
}

/** A result, or what stands in its place. */
export function endTurn(sketch: Sketch, data: Json, event: Event): void {
  const time = event.time ?? 0;
  beginAll(sketch, data, time);
  if (!sketch.state.turn.running) running(sketch, time); // a turn of which nothing else was told, a blocked prompt for example
  sketch.state.live = [];
  leaveCalls(sketch, data["is_error"] !== true);
  const cost = costOf(sketch.state, data);
  const models = object(data["modelUsage"]) as Record<string, ModelUsage>;
  sketch.state.cost = cost;
  sketch.state.context = contextOf(sketch.state.context, models, sketch.state.model);
  sketch.state.turn = NOTHING;
  sketch.add(turnEnd(data, time, text(data["uuid"]) || sketch.key(event), cost));
}

/** The total is that of the session; of the turn the CLI tells it, or it is what was added. */
function costOf({ cost: before, first }: State, data: Json): State["cost"] {
  const duration = before.duration + number(data["duration_ms"]);
  if (data["total_cost_usd"] === undefined) return { ...before, turn: 0, duration };
  const total = number(data["total_cost_usd"]);
  const models = object(data["modelUsage"]) as Record<string, ModelUsage>;
  const told = data["model_usage_since_last_result"];
  const sinceLast = Object.values(object(told)).reduce<number>((sum, one) => sum + number(object(one)["costUSD"]), 0);
  // It begins anew after /clear. Where the past is not known, nor is what was added to it.
  const added = total < before.total ? total : before.total === 0 && first > 1 ? 0 : total - before.total;
  return { total, turn: told === undefined ? added : sinceLast, duration, models };
}

function turnEnd(data: Json, time: number, key: string, cost: State["cost"]): TurnEnd {
  const failed = data["is_error"] === true;
  const usage = object(data["usage"]);
  const reason = text(data["terminal_reason"]);
  const stopped = reason === "hook_stopped" || reason === "tool_deferred" ? reason : "";
  const told = [...texts(data["errors"]), ...[data["result"], data["error"]].filter((one): one is string => typeof one === "string" && one !== "")];
  return {
    kind: "end",
    key,
    problem: failed ? reason || text(data["subtype"]) || "error" : stopped,
    errors: failed ? [...new Set(told)] : [],
    cost: cost.turn,
    total: cost.total,
    duration: number(data["duration_ms"]),
    tokens: { input: number(usage["input_tokens"]) + number(usage["cache_read_input_tokens"]) + number(usage["cache_creation_input_tokens"]), output: number(usage["output_tokens"]) },
    denials: objects(data["permission_denials"]).map((one) => ({ tool: text(one["tool_name"]), input: object(one["tool_input"]) })),
    time,
  };
}

/** Calls that got no result get none any more. Those of the background go on. A turn that ended well and missed something had results. */
export function leaveCalls(sketch: Sketch, well = false): void {
  const going = new Set(sketch.state.background.filter((one) => one.status === "running").map((one) => one.id));
  sketch.leave((line) => !line.some((call) => going.has(call.task)), well && sketch.state.missed ? "done" : "interrupted");
  sketch.state.missed = false;
}

function contextOf(known: Context, models: Record<string, ModelUsage>, model: string): Context {
  const told = models[model] ?? Object.values(models).toSorted((a, b) => number(b.contextWindow) - number(a.contextWindow))[0];
  return { used: known.used, total: number(told?.contextWindow) || known.total };
}

/** The result of a tool reaches its call. */
export function settle(sketch: Sketch, id: string, block: Json, line: Json, time: number): Call | undefined {
  const call = sketch.call(id);
  if (!call) return undefined;
  const meta = objects(line["tool_result_meta"]).find((one) => one["id"] === id) ?? {};
  const { decision, source } = object(meta["permission_decision"]);
  const failed = block["is_error"] === true;
  const said = text(object(blocks(block["content"])[0])["text"]);
  const interrupted = failed && /interrupted by user|doesn't want to proceed/.test(said);
  const denied = decision === "deny" || (decision === "reject" && source === "hook") || call.status === "denied";
  call.result = blocks(block["content"]);
  call.detail = line["tool_use_result"];
  call.ended = time;
  call.elapsed = 0; // what was told while it ran counts no more
  call.status = !failed ? "done" : denied ? "denied" : interrupted ? "interrupted" : "failed";
  sketch.settled(id);
  return call;
}
