// How messages are assigned to turns and turns end, with CLIs that name the message and CLIs that omit it.

import { describe, expect, test } from "vitest";

import { call, kinds, Telling } from "./telling";

describe("a CLI that says what it takes up", () => {
  test("two messages that waited together begin together", () => {
    const telling = new Telling().say("a").hand("a").lifecycle("a", "queued").lifecycle("a", "started").init();
    telling.say("b").hand("b").say("c").hand("c").lifecycle("b", "queued").lifecycle("c", "queued").assistant("one").result();
    expect(telling.state.queue.map((one) => one.uuid)).toEqual(["b", "c"]);
    telling.lifecycle("a", "completed").lifecycle("b", "started").lifecycle("c", "started").init().assistant("two").result();
    expect(kinds(telling.state.rows)).toEqual(["said a", "one", "end", "said b", "said c", "two", "end"]);
  });

  test("a message is folded into the turn that runs", () => {
    const telling = new Telling().say("a").hand("a").lifecycle("a", "started").init().assistant("start").say("b").hand("b").lifecycle("b", "queued");
    expect(telling.state.queue).toHaveLength(1);
    telling.lifecycle("b", "started").assistant("after").lifecycle("b", "completed").result();
    expect(kinds(telling.state.rows)).toEqual(["said a", "start", "said b", "after", "end"]);
  });

  test("an unprompted turn takes no queued message", () => {
    const telling = new Telling().say("a").hand("a").lifecycle("a", "started").init().result().say("b").hand("b");
    // Before it takes up b the CLI tells of a task that ended.
    const waiting = new Telling().say("a").hand("a").lifecycle("a", "started").init().say("b").hand("b").lifecycle("b", "queued").result();
    waiting.init().assistant("a task has ended").result({ origin: { kind: "task-notification" } });
    expect(waiting.state.queue.map((one) => one.uuid)).toEqual(["b"]);
    expect(telling.state.queue).toEqual([]);
  });

  test("a stopped turn leaves the queue, and a message dropped by the CLI is removed", () => {
    const telling = new Telling().say("a").hand("a").lifecycle("a", "started").init().say("b").hand("b").say("c").hand("c");
    telling.user("[Request interrupted by user]").result({ is_error: true, terminal_reason: "aborted_streaming" }).lifecycle("a", "cancelled").lifecycle("c", "cancelled");
    expect(telling.state.queue.map((one) => one.uuid)).toEqual(["b"]);
    expect(kinds(telling.state.rows)).toEqual(["said a", "end"]); // how it ended says that it was stopped
  });
});

describe("a CLI that does not", () => {
  test("messages begin one after the other, each with its turn", () => {
    const telling = new Telling().say("a").hand("a").say("b").hand("b").init().assistant("one").result();
    expect(telling.state.queue.map((one) => one.uuid)).toEqual(["b"]);
    telling.init().assistant("two").result();
    expect(kinds(telling.state.rows)).toEqual(["said a", "one", "end", "said b", "two", "end"]);
  });

  test("a line that names its messages begins them", () => {
    const telling = new Telling().say("a").hand("a").init().say("b").hand("b").result({ user_message_uuids: ["a", "b"] });
    expect(kinds(telling.state.rows)).toEqual(["said a", "said b", "end"]);
  });

  test("a prompt with nothing but a result has its turn", () => {
    expect(kinds(new Telling().say("a").hand("a").system("informational", { content: "blocked by a hook" }).result({ num_turns: 0 }).state.rows)).toEqual(["said a", "informational", "end"]);
  });
});

test("messages of a background subagent after the result start no turn", () => {
  const telling = new Telling().init().use("t1", "Task").system("task_started", { task_id: "k1", tool_use_id: "t1", is_backgrounded: true }).returned("t1", "launched").result();
  telling.assistant("still at it", { parent_tool_use_id: "t1" });
  expect(telling.state.turn.running).toBe(false);
  expect(kinds(call(telling.state, "t1").rows)).toEqual(["still at it"]);
});

test("stream events after the result start no turn", () => {
  const telling = new Telling().init().start().block(0, { type: "text", text: "" }).assistant("x", { aborted: true }).result({ is_error: true, terminal_reason: "aborted_streaming" });
  telling.stream({ type: "content_block_stop", index: 0 }).stream({ type: "message_stop" });
  expect(telling.state).toMatchObject({ turn: { running: false }, live: [] });
});

test("calls without a result are left with their turn, also those inside of others", () => {
  const { rows } = new Telling().init().use("t1", "Task").use("t2", "Bash", {}, "t1").use("t3").returned("t3").result({ is_error: true, terminal_reason: "aborted_tools" }).state;
  expect(kinds(rows)).toEqual(["call t1 interrupted", "call t3 done", "end"]);
  expect(rows[0]).toMatchObject({ rows: [{ id: "t2", status: "interrupted" }] });
});

test("the end of a turn shows the error once, and denials", () => {
  const telling = new Telling().init().result({ subtype: "success", is_error: true, terminal_reason: "api_error", result: "Overloaded", errors: ["Overloaded"], permission_denials: [{ tool_name: "Bash", tool_input: { command: "rm x" } }] });
  expect(telling.state.rows).toMatchObject([{ problem: "api_error", errors: ["Overloaded"], denials: [{ tool: "Bash", input: { command: "rm x" } }] }]);
  expect(new Telling().result({ subtype: "error", is_error: true, error: "an older spelling" }).state.rows).toMatchObject([{ problem: "error", errors: ["an older spelling"] }]);
});

describe("cost", () => {
  test("a turn has the difference, the session the total", () => {
    const telling = new Telling().result({ total_cost_usd: 0.5 }).result({ total_cost_usd: 0.75 });
    expect(telling.state.cost).toMatchObject({ total: 0.75, turn: 0.25, duration: 20 });
  });

  test("the CLI's own figure of a turn counts more", () => {
    expect(new Telling().result({ total_cost_usd: 9, model_usage_since_last_result: { m: { costUSD: 0.5 }, n: { costUSD: 0.25 } } }).state.cost).toMatchObject({ total: 9, turn: 0.75 });
  });

  test("/clear starts over", () => {
    const telling = new Telling().result({ total_cost_usd: 0.5 }).frame({ type: "conversation_reset" }).result({ total_cost_usd: 0.25 });
    expect(telling.state.cost).toMatchObject({ total: 0.25, turn: 0.25 });
  });

  test("without a known past the difference is unknown", () => {
    expect(new Telling(500).result({ total_cost_usd: 7 }).state.cost).toMatchObject({ total: 7, turn: 0 });
  });

  test("a crash costs nothing more and forgets nothing", () => {
    const telling = new Telling().result({ total_cost_usd: 0.5, modelUsage: { m: { contextWindow: 1000 } } }).init().tell("crashed", { is_error: true });
    expect(telling.state.cost).toMatchObject({ total: 0.5, turn: 0, models: { m: {} } });
  });
});

test("a result sets the outcome of a call", () => {
  const telling = new Telling().init();
  for (const id of ["done", "failed", "denied", "stopped"]) telling.use(id);
  telling.returned("done").returned("failed", "exit 1", { is_error: true });
  telling.returned("denied", "no", { is_error: true, tool_result_meta: [{ id: "denied", permission_decision: { decision: "deny" } }] });
  telling.returned("stopped", "The user doesn't want to proceed with this tool use.", { is_error: true });
  expect(kinds(telling.state.rows)).toEqual(["call done done", "call failed failed", "call denied denied", "call stopped interrupted"]);
  expect(telling.state.open).toEqual([]);
});

test("a turn that ended well had its results, also where one was too large to come with the rest", () => {
  const telling = new Telling().init().use("t1");
  telling.events.push({ kind: "frame", seq: 3, time: 3000, bytes: 700_000 });
  expect(call(telling.result().state, "t1").status).toBe("done");
  expect(call(telling.init().use("t2").result({ is_error: true, terminal_reason: "aborted_tools" }).state, "t2").status).toBe("interrupted");
});

const ended = (more: Record<string, unknown>) => new Telling().init().frame({ type: "result", ...more }).state.rows.at(-1);

describe("results of older CLIs", () => {
  test("a subtype that begins with error is an error without is_error", () => {
    expect(ended({ subtype: "error_during_execution", errors: ["no route"] })).toMatchObject({ problem: "error_during_execution", errors: ["no route"] });
    expect(ended({ subtype: "error_max_turns", is_error: false })).toMatchObject({ problem: "error_max_turns" });
    expect(ended({ subtype: "error_of_tomorrow" })).toMatchObject({ problem: "error_of_tomorrow" });
    expect(ended({ subtype: "success" })).toMatchObject({ problem: "" });
    expect(ended({})).toMatchObject({ problem: "" });
  });

  test("a turn the user interrupted is stopped, not failed", () => {
    const stopped = new Telling().init().user("[Request interrupted by user]").frame({ type: "result", subtype: "error_during_execution" });
    expect(stopped.state.rows.at(-1)).toMatchObject({ kind: "end", problem: "aborted_streaming" });
    stopped.init().frame({ type: "result", subtype: "error_during_execution" });
    expect(stopped.state.rows.at(-1)).toMatchObject({ problem: "error_during_execution" });
  });

  test("open calls of a failed turn are interrupted", () => {
    expect(call(new Telling().init().use("t1").frame({ type: "result", subtype: "error_during_execution" }).state, "t1").status).toBe("interrupted");
  });
});
