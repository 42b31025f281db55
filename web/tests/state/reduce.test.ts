// Events of the bridge: messages, questions, processes.

import { describe, expect, test } from "vitest";

import { reduce, replay } from "../../src/state/reduce";
import { EMPTY } from "../../src/state/state";
import { call, kinds, Telling } from "./telling";

test("no events change nothing, not even the object", () => {
  expect(reduce(EMPTY, [])).toBe(EMPTY);
});

test("a state that was handed out is never changed", () => {
  const first = new Telling().init().use("t1").state;
  const before = structuredClone(first);
  const telling = new Telling(2).returned("t1").result();
  reduce(first, telling.events);
  expect(first).toEqual(before);
});

test("two futures of one state do not disturb each other", () => {
  const first = new Telling().init().use("t1").state;
  const one = reduce(first, new Telling(2).use("t2").returned("t2").events);
  const other = reduce(first, new Telling(2).assistant("words").use("t3").returned("t1").events);
  expect(kinds(one.rows)).toEqual(["call t1 running", "call t2 done"]);
  expect(kinds(other.rows)).toEqual(["call t1 done", "words", "call t3 running"]);
});

test("a message is queued until it is delivered, then is in the conversation", () => {
  const telling = new Telling().say("a", "hello");
  expect(telling.state).toMatchObject({ queue: [{ uuid: "a", handed: false }], rows: [], turn: { running: false } });
  expect(telling.hand("a").state).toMatchObject({ queue: [], rows: [{ kind: "said", uuid: "a", by: "desk" }], turn: { running: true, began: 2000 } });
});

test("a message that is withdrawn leaves the queue", () => {
  expect(new Telling().say("a").tell("withdrawn", { uuid: "a" }).state).toMatchObject({ queue: [], rows: [] });
  expect(new Telling().say("a").tell("withdrawn", { uuid: "a", why: "it was said twice" }).state.rows).toMatchObject([{ about: "withdrawn", facts: { why: "it was said twice" } }]);
});

test("a message that is withdrawn after it seemed to begin does not stay as if it had", () => {
  const { rows, turn } = new Telling().say("a", "words").hand("a").tell("withdrawn", { uuid: "a", why: "its uuid was used before" }).tell("state", { state: "idle" }).state;
  expect(rows).toMatchObject([{ kind: "notice", about: "withdrawn", facts: { text: "words" } }]);
  expect(turn.running).toBe(false);
});

test("a message of unknown delivery says so", () => {
  const told = new Telling().say("a").hand("a").tell("doubted", { uuid: "a" });
  expect(told.state.rows).toMatchObject([{ kind: "said", uuid: "a", doubted: true }]);
  const waiting = new Telling().say("a").tell("doubted", { uuid: "a" });
  expect(waiting.state).toMatchObject({ queue: [], rows: [{ kind: "said", doubted: true }] });
});

test("a question waits, its call waits with it, and an answer lets both go on", () => {
  const telling = new Telling().init().use("t1").ask("q1", "t1");
  expect(telling.state.questions).toMatchObject([{ id: "q1", kind: "permission", request: { tool_name: "Bash" } }]);
  expect(call(telling.state, "t1").status).toBe("waiting");
  telling.tell("answered", { question: "q1", by: "phone", answer: { behavior: "allow" } });
  expect(telling.state.questions).toEqual([]);
  expect(call(telling.state, "t1").status).toBe("running");
  expect(telling.state.rows.at(-1)).toMatchObject({ about: "answered", facts: { by: "phone", behavior: "allow", tool: "Bash" } });
});

test("a call that was denied by a person says so, also where the CLI does not", () => {
  const telling = new Telling().init().use("t1").ask("q1", "t1").tell("answered", { question: "q1", by: "desk", answer: { behavior: "deny" } });
  expect(call(telling.state, "t1").status).toBe("denied");
  expect(call(telling.returned("t1", "no, thank you", { is_error: true }).state, "t1").status).toBe("denied");
});

test("a question that arrives before its call is pending from the start", () => {
  expect(call(new Telling().init().ask("q1", "t1").use("t1").state, "t1").status).toBe("waiting");
});

test("the same question told twice is one question", () => {
  expect(new Telling().ask("q1", "t1").ask("q1", "t1").state.questions).toHaveLength(1);
});

test("a closed question is shown with its reason; an unknown one is not", () => {
  expect(kinds(new Telling().ask("q1", "t1").tell("closed", { question: "q1", why: "the process ended" }).state.rows)).toEqual(["question_closed"]);
  expect(new Telling().tell("closed", { question: "q9", why: "x" }).state.rows).toEqual([]);
});

test("a process that crashes in a turn ends it, with what was open in it", () => {
  const { rows, turn, live } = new Telling().init().use("t1").start().block(0, { type: "text", text: "half" }).tell("crashed", { is_error: true, subtype: "error_during_execution", errors: ["the CLI ended by itself"] }).state;
  expect(kinds(rows)).toEqual(["call t1 interrupted", "end"]);
  expect(rows.at(-1)).toMatchObject({ problem: "crashed", errors: ["the CLI ended by itself"] });
  expect([turn.running, live]).toEqual([false, []]);
});

test("background tasks end with their process", () => {
  const telling = new Telling().init().use("t1", "Task").system("task_started", { task_id: "k1", tool_use_id: "t1", is_backgrounded: true }).use("t2", "Bash", {}, "t1").result();
  expect(call(telling.state, "t2").status).toBe("running");
  telling.tell("ended", { why: "" });
  expect(telling.state.background).toMatchObject([{ id: "k1", status: "stopped" }]);
  expect(call(telling.state, "t2").status).toBe("interrupted");
});

test("an idle session runs nothing, even with unknown events", () => {
  const { turn, queue, rows } = new Telling().say("a").hand("a").init().say("b").hand("b").tell("state", { state: "idle" }).state;
  expect(turn.running).toBe(false);
  expect([queue, kinds(rows)]).toEqual([[], ["said a", "said b"]]);
});

test("an undelivered message is queued also while the session is idle", () => {
  expect(new Telling().say("a").tell("state", { state: "hibernated" }).state.queue).toMatchObject([{ uuid: "a" }]);
});

test("silence, expired grants, a resumed process and another model are shown", () => {
  const telling = new Telling()
    .tell("silent", { seconds: 120 })
    .tell("lapsed", { rules: [{ rules: [{ toolName: "Bash", ruleContent: "ls" }, { toolName: "Read" }] }], mode: "plan" })
    .tell("lapsed", { rules: [] })
    .tell("started", { resumed: true, version: "2" })
    .tell("changed", { model: "other", mode: "plan" })
    .tell("ended", { why: "the CLI ended by itself", stderr: "oops" });
  expect(kinds(telling.state.rows)).toEqual(["silent", "lapsed", "resumed", "process_ended"]);
  expect(telling.state).toMatchObject({ model: "other", mode: "plan" });
  expect(telling.state.rows[1]).toMatchObject({ facts: { rules: ["Bash(ls)", "Read"], mode: "plan" } });
});

test("an event that is too large says how large it is", () => {
  expect(replay([{ kind: "frame", seq: 7, time: 1, bytes: 600_000 }]).rows).toMatchObject([{ about: "too_large", facts: { bytes: 600_000, seq: 7 } }]);
});

test("unknown content is shown unchanged", () => {
  const telling = new Telling().tell("novel" as "frame", { a: 1 }).frame({ type: "banana" }).system("ripe");
  expect(telling.state.rows).toMatchObject([{ kind: "unknown", what: "novel" }, { kind: "unknown", what: "banana" }, { kind: "unknown", what: "system/ripe" }]);
});

test.each(["constructor", "toString", "__proto__", "hasOwnProperty"])("a type by the name of %s is unknown like any other", (name) => {
  const telling = new Telling().tell(name as "frame", {}).frame({ type: name }).system(name).assistant({ type: name }).stream({ type: name }).block(0, { type: name }).delta(0, { type: name }).lifecycle("a", name);
  expect(telling.state.rows.map((row) => row.kind)).toEqual(["unknown", "unknown", "unknown", "unknown"]);
});

const RUBBISH = [null, 1, "x", [], [null], {}, { a: null }, true, Number.NaN];
const FIELDS = ["message", "content", "event", "tool_use_id", "uuid", "patch", "tasks", "request", "suggestions", "rules", "answer", "usage", "modelUsage", "permission_denials", "tool_result_meta", "tool_use_meta", "rate_limit_info", "compact_metadata", "parent_tool_use_id", "errors", "state", "question", "delta", "content_block"];
const KINDS = ["frame", "live", "said", "handed", "withdrawn", "doubted", "asked", "answered", "closed", "state", "changed", "started", "ended", "crashed", "silent", "lapsed"] as const;
const TYPES = ["system", "assistant", "user", "result", "stream_event", "tool_progress", "command_lifecycle", "conversation_reset", "rate_limit_event", "auth_status", "error"];
const SUBTYPES = ["init", "status", "compact_boundary", "api_retry", "model_fallback", "permission_denied", "informational", "hook_response", "task_started", "task_progress", "task_updated", "task_notification", "background_tasks_changed"];

test("an invalid line does not hide those before and after it", () => {
  for (const kind of KINDS) for (const type of TYPES) for (const rubbish of RUBBISH) {
    const telling = new Telling().init().assistant("before");
    for (const subtype of type === "system" ? SUBTYPES : ["x"]) telling.tell(kind, { type, subtype, ...Object.fromEntries(FIELDS.map((name) => [name, rubbish])), message: { content: rubbish, usage: rubbish, id: rubbish } });
    const { rows } = telling.assistant("after").state;
    expect(rows.flatMap((row) => (row.kind === "text" ? [row.text] : []))).toEqual(expect.arrayContaining(["before", "after"]));
  }
});

test("with a lost machine nothing runs, and no question is pending", () => {
  const { state } = new Telling()
    .init()
    .use("t1")
    .tell("asked", { question: "q", kind: "permission", hash: "h", request: { tool_name: "Bash", tool_use_id: "t1" } })
    .tell("state", { state: "interrupted" });
  expect(kinds(state.rows)).toEqual(["call t1 interrupted"]);
  expect([state.turn.running, state.questions, state.live]).toEqual([false, [], []]);
});

const cut = () => new Telling().say("a").hand("a").init().use("t1").ask("q1", "t1").tell("closed", { question: "q1", why: "the server was restarted", interrupted: true });

describe("a question cut off by a restart", () => {
  test("is interrupted, not denied, and can be run again", () => {
    const { state } = cut();
    expect(state).toMatchObject({ questions: [], retry: "q1" });
    expect(call(state, "t1").status).toBe("interrupted");
    expect(state.rows.at(-1)).toMatchObject({ about: "question_interrupted", tone: "warning", facts: { question: "q1", tool: "Bash", why: "the server was restarted" } });
  });

  test("stays retryable after the crash is reported, until another message follows", () => {
    const crashed = cut().tell("crashed", { error: "the server was restarted in the middle of the turn", is_error: true });
    expect(crashed.state).toMatchObject({ retry: "q1", turn: { running: false } });
    expect(call(crashed.state, "t1").status).toBe("interrupted");
    expect(crashed.say("b").state.retry).toBe("");
  });

  test("a question closed for another reason cannot be run again", () => {
    expect(new Telling().ask("q1", "t1").tell("closed", { question: "q1", why: "withdrawn" }).state.retry).toBe("");
    expect(new Telling().ask("q1", "t1").tell("closed", { question: "q1", why: "withdrawn", interrupted: false }).state.retry).toBe("");
  });
});

test("a queued message that the server drops is reported with its text", () => {
  const { rows } = new Telling().say("a", "do it").tell("withdrawn", { uuid: "a", why: "its uuid was used before" }).state;
  expect(rows).toMatchObject([{ about: "withdrawn", tone: "warning", facts: { text: "do it", why: "its uuid was used before" } }]);
});
