// System messages of the CLI.

import { describe, expect, test } from "vitest";

import { call, kinds, Telling } from "./telling";

test("model and mode are known from the start of a turn", () => {
  expect(new Telling().init({ tools: ["Bash"] }).state).toMatchObject({ model: "m", mode: "default", init: { tools: ["Bash"] }, turn: { running: true, began: 1000 } });
  expect(new Telling().init().system("status", { status: null, permissionMode: "plan" }).state.mode).toBe("plan");
});

test("compaction is shown with the tokens left, or as failed", () => {
  const telling = new Telling().init().system("status", { status: "compacting" });
  expect(telling.state.turn.doing).toBe("compacting");
  telling.system("status", { status: null, compact_result: "success" }).system("compact_boundary", { compact_metadata: { trigger: "auto", pre_tokens: 900, post_tokens: 100 } });
  expect(telling.state).toMatchObject({ context: { used: 100 }, turn: { doing: "" } });
  expect(telling.state.rows.at(-1)).toMatchObject({ about: "compacted", facts: { before: 900, after: 100 } });
  expect(kinds(new Telling().init().system("status", { status: null, compact_result: "failed", compact_error: "too_few_groups" }).state.rows)).toEqual(["compact_failed"]);
});

test("a retry is shown until the answer continues", () => {
  const telling = new Telling().init().system("api_retry", { attempt: 3, max_retries: 10, retry_delay_ms: 4000, error_status: 529, error: "overloaded" });
  expect(telling.state.turn).toMatchObject({ doing: "retrying", retry: { attempt: 3, most: 10, at: 6000, status: 529 } });
  expect(telling.assistant("here").state.turn).toMatchObject({ doing: "", retry: null });
});

test("another model in the place of one that is overloaded", () => {
  expect(new Telling().init().system("model_fallback", { original_model: "m", fallback_model: "n" }).state).toMatchObject({ model: "n", rows: [{ about: "model_fallback" }] });
});

test("a call denied by a rule is denied, regardless of its result", () => {
  const telling = new Telling().init().use("t1").system("permission_denied", { tool_use_id: "t1", tool_name: "Bash", message: "a rule" }).returned("t1", "a rule", { is_error: true });
  expect(kinds(telling.state.rows)).toEqual(["call t1 denied", "denied_by_rule"]);
});

test("only failed hooks are shown", () => {
  const telling = new Telling().system("hook_started").system("hook_response", { exit_code: 0, outcome: "success" }).system("hook_response", { hook_name: "lint", exit_code: 2, stderr: "no" });
  expect(telling.state.rows).toMatchObject([{ about: "hook_failed", facts: { hook: "lint", code: 2, output: "no" } }]);
});

test("a background task continues after its turn, and its end is shown", () => {
  const telling = new Telling().init().use("t1", "Task").system("task_started", { task_id: "k1", tool_use_id: "t1", task_type: "local_agent", description: "look", is_backgrounded: true }).returned("t1", "launched").use("t2", "Bash", {}, "t1").result();
  telling.system("task_progress", { task_id: "k1", description: "Running ls", last_tool_name: "Bash", usage: { total_tokens: 133 } });
  expect(telling.state.background).toMatchObject([{ id: "k1", call: "t1", type: "local_agent", status: "running", summary: "Running ls", lastTool: "Bash", tokens: 133 }]);
  expect(call(telling.state, "t2").status).toBe("running");
  telling.system("task_updated", { task_id: "k1", patch: { status: "killed" } });
  expect(call(telling.state, "t2").status).toBe("interrupted");
  telling.system("task_notification", { task_id: "k1", tool_use_id: "t1", status: "stopped", summary: "was stopped" });
  expect(telling.state.background).toMatchObject([{ status: "stopped" }]);
  expect(telling.state.rows.at(-1)).toMatchObject({ about: "task_ended", facts: { summary: "was stopped" } });
});

test("a command that takes long is a task too, but its end is that of its call", () => {
  const telling = new Telling().init().use("t1").system("task_started", { task_id: "k1", tool_use_id: "t1", is_backgrounded: false }).system("task_notification", { task_id: "k1", tool_use_id: "t1", status: "completed" }).returned("t1");
  expect(kinds(telling.state.rows)).toEqual(["call t1 done"]);
});

test("a call moved to the background continues there", () => {
  const telling = new Telling().init().use("t1").system("task_started", { task_id: "k1", tool_use_id: "t1", is_backgrounded: false }).system("task_updated", { task_id: "k1", patch: { is_backgrounded: true } });
  expect(call(telling.state, "t1").task).toBe("k1");
});

test("the list of background tasks is the CLI's", () => {
  const telling = new Telling().system("background_tasks_changed", { tasks: [{ task_id: "k1", task_type: "local_bash", description: "a" }] });
  expect(telling.state.background).toMatchObject([{ id: "k1", status: "running" }]);
  expect(telling.system("background_tasks_changed", { tasks: [] }).state.background).toMatchObject([{ id: "k1", status: "completed" }]);
});

const inside = { parent_tool_use_id: "t1" };
const main = () => new Telling().init({ model: "main-model", permissionMode: "plan" }).use("t1", "Task");

describe("frames of a subagent", () => {
  test("do not change the model, the mode or the info of the session", () => {
    const before = main().state;
    const { state } = main().init({ model: "small-model", permissionMode: "default", ...inside }).system("status", { status: "requesting", permissionMode: "acceptEdits", ...inside }).system("model_fallback", { original_model: "a", fallback_model: "b", ...inside });
    expect(state).toMatchObject({ model: "main-model", mode: "plan", init: before.init, turn: { doing: before.turn.doing } });
    expect(kinds(call(state, "t1").rows)).toEqual(["model_fallback"]);
  });

  test("a result ends neither the turn nor changes the cost", () => {
    const { state } = main().result({ total_cost_usd: 9, modelUsage: { x: { contextWindow: 5 } }, ...inside });
    expect(state).toMatchObject({ turn: { running: true }, cost: { total: 0, turn: 0, duration: 0 }, context: { total: 0 } });
    expect(call(state, "t1")).toMatchObject({ status: "running", rows: [] });
  });

  test("a failed result is shown inside the call", () => {
    const { state } = main().result({ subtype: "error_max_turns", is_error: true, ...inside });
    expect(state.turn.running).toBe(true);
    expect(call(state, "t1").rows).toMatchObject([{ kind: "end", problem: "error_max_turns", cost: 0 }]);
    expect(state.rows).toHaveLength(1);
  });

  test("a background subagent that reports after the turn starts no turn", () => {
    const { state } = main().system("task_started", { task_id: "k", tool_use_id: "t1", is_backgrounded: true }).result().init(inside).system("status", { status: "requesting", ...inside }).result(inside);
    expect(state.turn.running).toBe(false);
    expect(state.rows.filter((row) => row.kind === "end")).toHaveLength(1);
  });

  test("a compaction and a retry leave the context and the status of the turn alone", () => {
    const { state } = main().system("compact_boundary", { compact_metadata: { pre_tokens: 9, post_tokens: 1 }, ...inside }).system("api_retry", { attempt: 1, max_retries: 2, retry_delay_ms: 5, ...inside });
    expect(state).toMatchObject({ context: { used: 0 }, turn: { retry: null } });
    expect(kinds(call(state, "t1").rows)).toEqual(["compacted", "api_retry"]);
  });

  test("an unknown subtype is shown inside the call", () => {
    expect(call(main().system("moon_phase", inside).state, "t1").rows).toMatchObject([{ kind: "unknown", what: "system/moon_phase" }]);
  });
});
