// Handlers for `system` frames, by subtype.

import type { Event } from "../protocol/messages";
import { number, object, objects, own, text, type Json } from "../protocol/wire";
import type { Sketch } from "./sketch";
import type { Background, Tone } from "./state";
import { doing, leaveCalls, note as add, rest, running } from "./turns";

type Handler = (sketch: Sketch, data: Json, event: Event) => void;

/** A notice in the conversation; for a frame of a subagent, inside its call. */
const note = (sketch: Sketch, about: string, facts: Json, tone: Tone, event: Event): void => add(sketch, about, facts, tone, event, text(event.data?.["parent_tool_use_id"]));

export const SYSTEM: Record<string, Handler> = {
  init(sketch, data, event) {
    sketch.state.init = data;
    sketch.state.model = text(data["model"]) || sketch.state.model;
    sketch.state.mode = text(data["permissionMode"]) || sketch.state.mode;
    running(sketch, event.time);
  },
  status(sketch, data, event) {
    sketch.state.mode = text(data["permissionMode"]) || sketch.state.mode;
    const status = text(data["status"]);
    if (status === "compacting") note(sketch, "compacting", {}, "info", event);
    if (data["compact_result"] === "failed") note(sketch, "compact_failed", { error: data["compact_error"] }, "warning", event);
    if (status === "requesting") running(sketch, event.time);
    if (sketch.state.turn.running) doing(sketch, status);
  },
  compact_boundary(sketch, data, event) {
    const after = number(object(data["compact_metadata"])["post_tokens"]);
    sketch.state.context = { ...sketch.state.context, used: after, categories: [] };
    compacted(sketch, data, event);
  },
  api_retry(sketch, data, event) {
    sketch.state.live = []; // the retry streams the message again
    sketch.state.turn = { ...sketch.state.turn, doing: "retrying", retry: retryOf(data, event) };
    retrying(sketch, data, event);
  },
  model_fallback(sketch, data, event) {
    sketch.state.model = text(data["fallback_model"]) || sketch.state.model;
    fellBack(sketch, data, event);
  },
  permission_denied(sketch, data, event) {
    const call = sketch.call(text(data["tool_use_id"]));
    if (call) call.status = "denied";
    note(sketch, "denied_by_rule", { tool: data["tool_name"], message: data["message"], type: data["decision_reason_type"] }, "warning", event);
  },
  informational(sketch, data, event) {
    const tone = text(data["level"]) === "error" ? "error" : text(data["level"]) === "warning" ? "warning" : "info";
    note(sketch, "informational", { text: data["content"] }, tone, event);
  },
  notification(sketch, data, event) {
    note(sketch, "informational", { text: data["text"] }, "info", event);
  },
  hook_started() {},
  hook_progress() {},
  hook_response(sketch, data, event) {
    const failed = data["outcome"] === "error" || (number(data["exit_code"]) !== 0 && data["exit_code"] !== undefined);
    if (failed) note(sketch, "hook_failed", { hook: data["hook_name"] ?? data["hook_event"], output: data["stderr"] ?? data["output"], code: data["exit_code"] }, "warning", event);
  },
  task_started(sketch, data) {
    if (data["is_backgrounded"]) goOn(sketch, text(data["tool_use_id"]), text(data["task_id"]));
    change(sketch, text(data["task_id"]), {
      call: text(data["tool_use_id"]),
      type: text(data["task_type"]),
      description: text(data["description"]),
      status: "running",
    });
  },
  task_progress(sketch, data) {
    const tokens = number(object(data["usage"])["total_tokens"]);
    change(sketch, text(data["task_id"]), { summary: text(data["description"]), lastTool: text(data["last_tool_name"]), tokens });
  },
  task_updated(sketch, data) {
    const patch = object(data["patch"]);
    const id = text(data["task_id"]);
    const known = sketch.state.background.find((one) => one.id === id);
    if (patch["is_backgrounded"] && known) goOn(sketch, known.call, id);
    const status = own(STATUSES, text(patch["status"]));
    if (status) change(sketch, id, { status });
  },
  task_notification(sketch, data, event) {
    const status = own(STATUSES, text(data["status"])) ?? "completed";
    const known = sketch.state.background.find((one) => one.id === data["task_id"]);
    change(sketch, text(data["task_id"]), { status, summary: text(data["summary"]) });
    const backgrounded = sketch.call(text(data["tool_use_id"]))?.task;
    if (backgrounded) note(sketch, "task_ended", { status, summary: data["summary"], description: known?.description }, status === "failed" ? "warning" : "info", event);
  },
  background_tasks_changed(sketch, data) {
    const told = objects(data["tasks"]).slice(0, MOST_BACKGROUND);
    const now = new Set(told.map((one) => text(one["task_id"])));
    for (const one of told) change(sketch, text(one["task_id"]), { type: text(one["task_type"]), description: text(one["description"]), status: "running" });
    for (const one of sketch.state.background) if (one.status === "running" && !now.has(one.id)) change(sketch, one.id, { status: "completed" });
  },
  session_title_changed() {}, // the session list has the title
  session_state_changed() {},
  thinking_tokens() {},
  control_request_progress() {},
  ui_invalidate() {},
  files_persisted() {},
  commands_changed(sketch, _data, event) {
    sketch.state.commandsChanged = event.seq ?? sketch.state.commandsChanged;
  },
};

const retryOf = (data: Json, event: Event) => ({
  attempt: number(data["attempt"]),
  most: number(data["max_retries"]),
  at: (event.time ?? 0) + number(data["retry_delay_ms"]),
  status: number(data["error_status"]),
  error: text(data["error"]),
});

function retrying(sketch: Sketch, data: Json, event: Event): void {
  note(sketch, "api_retry", { ...retryOf(data, event), seconds: Math.round(number(data["retry_delay_ms"]) / 100) / 10 }, "warning", event);
}

function compacted(sketch: Sketch, data: Json, event: Event): void {
  const told = object(data["compact_metadata"]);
  note(sketch, "compacted", { trigger: told["trigger"], before: told["pre_tokens"], after: number(told["post_tokens"]) }, "info", event);
}

function fellBack(sketch: Sketch, data: Json, event: Event): void {
  note(sketch, "model_fallback", { from: data["original_model"], to: data["fallback_model"] }, "warning", event);
}

/** Frames of a subagent. Its model, mode, context and retries are its own: only notices appear, inside its call. */
export const SUBAGENT_SYSTEM: Record<string, Handler> = {
  ...SYSTEM,
  init() {},
  status() {},
  commands_changed() {},
  compact_boundary: compacted,
  api_retry(sketch, data, event) {
    const call = sketch.call(text(data["parent_tool_use_id"]));
    if (call) call.live = [];
    retrying(sketch, data, event);
  },
  model_fallback: fellBack,
};

const STATUSES: Record<string, Background["status"]> = {
  running: "running",
  completed: "completed",
  failed: "failed",
  stopped: "stopped",
  killed: "stopped",
  cancelled: "stopped",
};

/** Background tasks kept; the oldest are dropped. */
export const MOST_BACKGROUND = 500;

function change(sketch: Sketch, id: string, fields: Partial<Background>): void {
  const known = sketch.state.background.find((one) => one.id === id);
  const blank: Background = { id, call: "", type: "", description: "", status: "running", summary: "", lastTool: "", tokens: 0 };
  const next = { ...(known ?? blank), ...fields };
  sketch.state.background = known ? sketch.state.background.map((one) => (one === known ? next : one)) : [...sketch.state.background.slice(1 - MOST_BACKGROUND), next];
  if (next.status !== "running") sketch.leave((line) => line.slice(0, -1).some((call) => call.task === id));
}

/** The call continues in the background, beyond the end of its turn. */
function goOn(sketch: Sketch, id: string, task: string): void {
  const call = sketch.call(id);
  if (call) call.task = task;
}

/** The process ended, and with it its background tasks and open calls. */
export function endProcess(sketch: Sketch, event: Event): void {
  for (const one of sketch.state.background) if (one.status === "running") change(sketch, one.id, { status: "stopped" });
  rest(sketch, event.time);
  leaveCalls(sketch);
}
