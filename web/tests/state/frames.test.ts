// Lines of the CLI: answers, results, messages in the user's name, sessions taken over from a terminal.

import { expect, test } from "vitest";

import { call, kinds, Telling } from "./telling";

test("blocks become rows, each of its kind, with the line where a fork can begin", () => {
  const telling = new Telling().init().assistant({ type: "thinking", thinking: "hm" }).assistant({ type: "redacted_thinking", data: "x" }).assistant("words").use("t1", "Read", { file_path: "a" });
  expect(telling.state.rows).toMatchObject([
    { kind: "thinking", text: "hm", redacted: false },
    { kind: "thinking", text: "", redacted: true },
    { kind: "text", text: "words", uuid: "a3", source: "model" },
    { kind: "call", id: "t1", name: "Read", input: { file_path: "a" } },
  ]);
});

test("several blocks in one line are several rows with distinct names", () => {
  const telling = new Telling().init().frame({ type: "assistant", uuid: "x", parent_tool_use_id: null, message: { id: "m1", content: [{ type: "text", text: "a" }, { type: "text", text: "b" }] } });
  expect(telling.state.rows.map((row) => row.key)).toEqual(["m1/0", "m1/1"]);
});

test("a repeated message id still gives distinct names", () => {
  const keys = new Telling().init().assistant("a").assistant("b", { message: { id: "m2", content: "b" } }).assistant("c").state.rows.map((row) => row.key);
  expect(new Set(keys).size).toBe(3);
});

test("texts of a local command and of an API error name their source", () => {
  const telling = new Telling().assistant("$0.10", { local_command_source: "cost" }).assistant("Overloaded", { is_api_error_message: true });
  expect(telling.state.rows).toMatchObject([{ source: "local" }, { source: "error" }]);
  expect(new Telling().user("<local-command-stdout>Set model to x</local-command-stdout>", { isReplay: true }).state.rows).toMatchObject([{ kind: "text", text: "Set model to x", source: "local" }]);
  expect(new Telling().user("<local-command-stdout></local-command-stdout>", { isReplay: true }).state.rows).toEqual([]);
});

test("a tool that the API runs itself has its result in the answer", () => {
  const telling = new Telling().init().assistant({ type: "server_tool_use", id: "s1", name: "web_search", input: { query: "x" } });
  expect(call(telling.state, "s1").status).toBe("running");
  telling.assistant({ type: "web_search_tool_result", tool_use_id: "s1", content: [{ type: "web_search_result", url: "https://a.example" }] });
  expect(call(telling.state, "s1")).toMatchObject({ status: "done", result: [{ url: "https://a.example" }] });
  expect(telling.state.rows).toHaveLength(1);
});

test("several results in one line reach their calls", () => {
  const telling = new Telling().init().use("t1").use("t2").frame({ type: "user", message: { role: "user", content: [{ type: "tool_result", tool_use_id: "t2", content: "2" }, { type: "tool_result", tool_use_id: "t1", content: "1" }] } });
  expect(kinds(telling.state.rows)).toEqual(["call t1 done", "call t2 done"]);
});

test("a call told twice is one call", () => {
  expect(kinds(new Telling().init().use("t1").use("t1").state.rows)).toEqual(["call t1 running"]);
});

test("a nested message that arrives before its call is shown inside it", () => {
  const telling = new Telling().init().assistant("first", { parent_tool_use_id: "t1" }).use("t1", "Task", { description: "look" });
  expect(telling.state.rows).toMatchObject([{ kind: "call", id: "t1", name: "Task", input: { description: "look" }, rows: [{ text: "first" }] }]);
  expect(call(telling.returned("t1").state, "t1").status).toBe("done");
});

test("a result without a call is shown as unknown, but not where the past is cut off", () => {
  expect(new Telling().returned("t9").state.rows).toMatchObject([{ kind: "unknown", what: "tool_result" }]);
  expect(new Telling(40).returned("t9").state.rows).toEqual([]);
});

test("the duration of a tool is shown at that tool, not at the enclosing one", () => {
  const telling = new Telling().init().use("t1", "Task").use("t2", "Bash", {}, "t1");
  telling.events.push({ kind: "live", data: { type: "tool_progress", tool_use_id: "t2", parent_tool_use_id: "t1", elapsed_time_seconds: 7 } });
  expect([call(telling.state, "t1").elapsed, call(telling.state, "t2").elapsed]).toEqual([0, 7]);
  telling.events.push({ kind: "live", data: { type: "tool_progress", heartbeat: true, tool_use_id: "t2-heartbeat-1", parent_tool_use_id: "t2", elapsed_time_seconds: 30 } });
  expect(call(telling.state, "t2").elapsed).toBe(30);
  expect(call(telling.returned("t2").state, "t2").elapsed).toBe(0);
});

test("the window is as full as the last answer of the main thread says", () => {
  const usage = { input_tokens: 10, cache_read_input_tokens: 20, cache_creation_input_tokens: 30, output_tokens: 5 };
  const telling = new Telling().assistant("a", { message: { id: "m", content: "a", usage } }).assistant("b", { parent_tool_use_id: "t1", message: { id: "n", content: "b", usage: { input_tokens: 999 } } });
  expect(telling.assistant("c", { message: { id: "o", model: "<synthetic>", content: "c", usage: { input_tokens: 1 } } }).state.context.used).toBe(65);
});

test("messages that the CLI sends in the user's name are marked as such", () => {
  const telling = new Telling().init().user("Stop hook feedback: go on", { isSynthetic: true }).user("a summary", { isCompactSummary: true }).user("something else").user("[Request interrupted by user for tool use]", { imported: true });
  expect(kinds(telling.state.rows)).toEqual(["synthetic", "synthetic", "synthetic", "interrupted"]);
});

test("the echo of a message starts its turn and is shown once", () => {
  const telling = new Telling().say("a").hand("a").init().say("b").hand("b").user("b", { uuid: "b", isReplay: true });
  expect(kinds(telling.state.rows)).toEqual(["said a", "said b"]);
});

test("a session imported from a terminal keeps its times, and runs nothing", () => {
  const old = { imported: true, timestamp: "2026-01-02T03:04:05Z" };
  const telling = new Telling()
    .user("what is this?", { uuid: "u", ...old })
    .assistant("a project", old)
    .assistant({ type: "tool_use", id: "t1", name: "Read", input: {} }, old)
    .returned("t1", "text", { ...old, tool_use_result: { type: "text" } })
    .assistant({ type: "tool_use", id: "t2", name: "Bash", input: {} }, old)
    .user("<command-message>compact</command-message>\n<command-name>/compact</command-name>\n<command-args>briefly</command-args>", { uuid: "v", ...old })
    .user("Caveat: the messages below …", { isMeta: true, ...old });
  const { rows, turn, open } = telling.state;
  expect(kinds(rows)).toEqual(["said u", "a project", "call t1 done", "call t2 interrupted", "said v", "synthetic"]);
  expect(rows[0]).toMatchObject({ time: Date.parse("2026-01-02T03:04:05Z") });
  expect(rows[2]).toMatchObject({ detail: { type: "text" } });
  expect(rows[4]).toMatchObject({ blocks: [{ text: "/compact briefly" }] });
  expect([turn.running, open]).toEqual([false, []]);
});

test("limits, logins, errors of older CLIs and /clear are shown", () => {
  const telling = new Telling()
    .frame({ type: "rate_limit_event", rate_limit_info: { status: "allowed" } })
    .frame({ type: "rate_limit_event", rate_limit_info: { status: "rejected" } })
    .frame({ type: "auth_status", error: "no" })
    .frame({ type: "error", error: { message: "went wrong" } })
    .frame({ type: "conversation_reset" });
  expect(kinds(telling.state.rows)).toEqual(["rate_limit", "auth_failed", "informational", "cleared"]);
});
