// Reduces the server's events to the state of a session. Pure; loaded, replayed and live events are treated alike. The handlers are tables:
// here by event kind, in frames.ts by frame type, in system.ts by subtype, in stream.ts by stream event.

import type { Event } from "../protocol/messages";
import { blocks, isObject, list, object, objects, own, plain, text, texts, number, type Json } from "../protocol/wire";
import { Sketch } from "./sketch";
import { FRAMES } from "./frames";
import { endProcess } from "./system";
import { begin, endTurn, hand, isChoice, note, rest, withdraw } from "./turns";
import { EMPTY, type Call, type CallStatus, type Help, type Place, type Question, type Said, type State } from "./state";

type Handler = (sketch: Sketch, data: Json, event: Event) => void;

/** The state after these events; the same object for an empty list. */
export function reduce(state: State, events: readonly Event[]): State {
  if (events.length === 0) return state;
  const sketch = new Sketch(state);
  for (const event of events) apply(sketch, event);
  return sketch.done();
}

/** The state of a session with exactly these events. */
export const replay = (events: readonly Event[]): State => reduce(EMPTY, events);

function apply(sketch: Sketch, told: Event): void {
  const event = told.data?.["imported"] ? { ...told, time: Date.parse(text(told.data["timestamp"])) || (told.time ?? 0) } : told;
  if (event.seq !== undefined) {
    sketch.state.last = event.seq;
    sketch.state.first ||= event.seq;
  }
  if (event.data === undefined) {
    sketch.state.missed = true;
    return note(sketch, "too_large", { bytes: event.bytes ?? 0, seq: event.seq ?? 0 }, "quiet", event);
  }
  try {
    (own(EVENTS, event.kind) ?? unknown)(sketch, event.data, event);
  } catch {
    // A malformed event is shown as unknown; the others are not affected.
    unknown(sketch, event.data, event);
  }
}

function unknown(sketch: Sketch, data: Json, event: Event): void {
  const what = event.kind === "frame" || event.kind === "live" ? text(data["type"]) : event.kind;
  sketch.add({ kind: "unknown", key: sketch.key(event), what, data, time: event.time ?? 0 });
}

function frame(sketch: Sketch, data: Json, event: Event): void {
  (own(FRAMES, text(data["type"])) ?? unknown)(sketch, data, event);
}

/** Session states without a running turn. */
const AT_REST = ["idle", "hibernated", "failed", "interrupted"];

const EVENTS: Record<string, Handler> = {
  frame,
  live: frame,

  said(sketch, data) {
    const queued = { uuid: text(data["uuid"]), blocks: blocks(data["content"]), by: text(data["by"]), handed: false, held: false };
    sketch.state.queue = [...sketch.state.queue, queued];
    sketch.state.retry = ""; // a new message replaces the interrupted turn
  },
  handed(sketch, data, event) {
    hand(sketch, text(data["uuid"]), event.time);
  },
  held(sketch, data) {
    const uuid = text(data["uuid"]);
    const known = sketch.state.queue.find((one) => one.uuid === uuid); // the CLI may have reported it as cancelled already
    const queued = { uuid, blocks: blocks(data["content"]), by: known?.by ?? "", handed: false, held: true };
    sketch.state.queue = known ? sketch.state.queue.map((one) => (one === known ? queued : one)) : [...sketch.state.queue, queued];
  },
  withdrawn(sketch, data, event) {
    withdraw(sketch, text(data["uuid"]), text(data["why"]), event);
  },
  doubted(sketch, data, event) {
    begin(sketch, text(data["uuid"]), event.time);
    sketch.amend(
      (row): row is Said => row.kind === "said" && row.uuid === data["uuid"],
      (row) => ({ ...row, doubted: true }),
    );
  },

  asked(sketch, data, event) {
    const question = questionOf(data, event.time ?? 0);
    sketch.state.questions = [...sketch.state.questions.filter((one) => one.id !== question.id), question];
    const call = sketch.call(text(question.request["tool_use_id"]));
    if (call && (call.status === "running" || data["imported"])) call.status = "waiting";
  },
  answered(sketch, data, event) {
    const answer = object(data["answer"]);
    const question = close(sketch, text(data["question"]), answer["behavior"] === "deny" && !answer["interrupt"] ? "denied" : allowed(data), event.time);
    if (question && isObject(answer["input"])) edit(sketch, question, answer["input"], event.time);
    const facts = { question: data["question"], by: data["by"], behavior: answer["behavior"], reason: answer["reason"], tool: question?.request["tool_name"], kind: question?.kind };
    note(sketch, "answered", facts, "quiet", event);
  },
  closed(sketch, data, event) {
    const interrupted = data["interrupted"] === true;
    const question = close(sketch, text(data["question"]), interrupted ? "interrupted" : allowed(data), event.time);
    if (!question) return;
    const facts = { question: question.id, why: data["why"], tool: question.request["tool_name"], kind: question.kind, interrupted };
    if (interrupted) sketch.state.retry = question.id;
    note(sketch, interrupted ? "question_interrupted" : "question_closed", facts, interrupted ? "warning" : "quiet", event);
  },

  rewound(sketch, data, event) {
    const before = sketch.state.rows.findLast((row) => row.kind === "said" && row.uuid === data["message"]) as Said | undefined;
    note(sketch, "rewound", { message: data["message"], files: data["files"], before: before && plain(before.blocks) }, "info", event);
  },

  state(sketch, data, event) {
    sketch.state.state = text(data["state"]);
    sketch.state.error = text(data["error"]);
    if (AT_REST.includes(sketch.state.state)) rest(sketch, event.time);
    if (sketch.state.state === "interrupted") abandon(sketch, event);
  },
  changed(sketch, data) {
    if (typeof data["model"] === "string") sketch.state.model = data["model"];
    if (typeof data["mode"] === "string") sketch.state.mode = data["mode"];
  },
  started(sketch, data, event) {
    endProcess(sketch, event); // a process killed together with its server sends no `ended` event
    if (data["resumed"]) note(sketch, "resumed", { version: data["version"] }, "quiet", event);
  },
  ended(sketch, data, event) {
    endProcess(sketch, event);
    if (data["why"]) note(sketch, "process_ended", { why: data["why"], stderr: data["stderr"] }, "error", event);
  },
  crashed(sketch, data, event) {
    endTurn(sketch, { ...data, terminal_reason: "crashed" }, event);
  },
  silent(sketch, data, event) {
    note(sketch, "silent", { seconds: data["seconds"] }, "warning", event);
  },
  lapsed(sketch, data, event) {
    const rules = objects(data["rules"]).flatMap((update) => list(update["rules"]).filter(isObject));
    const words = rules.map((rule) => (rule["ruleContent"] ? `${text(rule["toolName"])}(${text(rule["ruleContent"])})` : text(rule["toolName"])));
    if (words.length || data["mode"]) note(sketch, "lapsed", { rules: words, mode: data["mode"] }, "info", event);
  },
};

/** The machine is lost, and with it the process that asked. */
function abandon(sketch: Sketch, event: Event): void {
  endProcess(sketch, event);
  sketch.state.questions = [];
}

/** What a call is after its question. A call of an imported history may lack its result. */
const allowed = (data: Json): CallStatus => (data["imported"] ? "interrupted" : "running");

/** Remove a question and give its call the status `next`. */
function close(sketch: Sketch, id: string, next: CallStatus, time = 0): Question | undefined {
  const question = sketch.state.questions.find((one) => one.id === id);
  sketch.state.questions = sketch.state.questions.filter((one) => one.id !== id);
  const call = question && sketch.call(text(question.request["tool_use_id"]));
  if (call && call.status === "waiting") call.status = next === "denied" && isChoice(call.name) ? "declined" : next;
  if (call) startNow(sketch, call, question.time, time);
  return question;
}

/** A call runs from the answer on. The calls after it have not begun either; the subagents around it waited. */
function startNow(sketch: Sketch, call: Call, asked: number, answered: number): void {
  const { above, after } = sketch.around(call.id);
  for (const one of [call, ...after]) one.started = Math.max(one.started, answered);
  for (const one of above) one.waited += Math.max(0, answered - asked);
}

/** The user changed the input: the call shows what ran. Its own frame may arrive later. */
function edit(sketch: Sketch, question: Question, input: Json, time = 0): void {
  const call = sketch.callOrUnseen(text(question.request["tool_use_id"]), time);
  Object.assign(call, { name: text(question.request["tool_name"]), input, edited: true });
}

function questionOf(data: Json, time: number): Question {
  const told = object(data["request"]);
  const request = isObject(told["request"]) ? told["request"] : told;
  const suggestions = objects(data["suggestions"]).map((one) => ({
    index: number(one["index"]),
    words: text(one["words"]),
    destinations: texts(one["destinations"]),
    suggested: text(one["suggested"]),
  }));
  const kind = text(data["kind"]) as Question["kind"];
  return { id: text(data["question"]), kind, hash: text(data["hash"]), request, suggestions, agent: text(data["agent"]), help: helpOf(object(data["help"])), time };
}

function helpOf(told: Json): Help {
  const places = list(told["places"]).map((one) => (isObject(one) ? placeOf(one) : null));
  const current = told["current"] === null ? "" : typeof told["current"] === "string" ? told["current"] : null;
  return { risks: objects(told["risks"]).map((one) => ({ kind: text(one["kind"]), subjects: texts(one["subjects"]) })), places, current };
}

const placeOf = (told: Json): Place => ({
  line: number(told["line"]),
  prefix: text(told["prefix"]),
  suffix: text(told["suffix"]),
  before: texts(told["before"]),
  after: texts(told["after"]),
  matches: number(told["matches"]),
});
