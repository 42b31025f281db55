// What an answer does to its call: the input that ran, when it started, how it is called.

import { expect, test } from "vitest";

import { lasted } from "../../src/tools/outcome";
import { call, Telling } from "./telling";

const EDITED = { behavior: "allow", input: { command: "touch b" } };

test("an edited call shows what ran", () => {
  const { state } = new Telling().init().use("t1", "Bash", { command: "touch a" }).ask("q", "t1").answer("q", EDITED).returned("t1");
  expect(call(state, "t1")).toMatchObject({ input: { command: "touch b" }, edited: true, status: "done" });
});

test("an edited call whose own frame arrives after the answer shows what ran", () => {
  const { state } = new Telling().init().ask("q", "t1").answer("q", EDITED).use("t1", "Bash", { command: "touch a" });
  expect(call(state, "t1")).toMatchObject({ input: { command: "touch b" }, edited: true });
});

test("an allowed call that was not edited is as the model wrote it", () => {
  const { state } = new Telling().init().use("t1", "Bash", { command: "touch a" }).ask("q", "t1").answer("q", { behavior: "allow", input: null });
  expect(call(state, "t1")).toMatchObject({ input: { command: "touch a" }, edited: false });
});

// One event per second: the sixth is five seconds after the first.

test("a call runs from its answer on, and so do those after it", () => {
  const telling = new Telling().init().use("t1").use("t2").ask("q", "t1");
  telling.system("status").system("status").answer("q", { behavior: "allow" }).returned("t1").returned("t2");
  expect(lasted(call(telling.state, "t1"))).toBe("1.0 s");
  expect(lasted(call(telling.state, "t2"))).toBe("2.0 s");
});

test("a subagent's time leaves out what its calls waited for", () => {
  const telling = new Telling().init().use("agent", "Task").use("t1", "Bash", {}, "agent").ask("q", "t1");
  telling.system("status").system("status").answer("q", { behavior: "allow" }).returned("t1", "ok", { parent_tool_use_id: "agent" }).returned("agent");
  expect(lasted(call(telling.state, "agent"))).toBe("4.0 s");
});

test("a call that was running before another one was asked about keeps its time", () => {
  const telling = new Telling().init().use("t1").use("t2").ask("q", "t2").answer("q", { behavior: "allow" }).returned("t2").returned("t1");
  expect(lasted(call(telling.state, "t1"))).toBe("5.0 s");
});

test.each([["ExitPlanMode", "plan"], ["AskUserQuestion", "questions"]])("%s without a yes is declined, not denied", (name, kind) => {
  const telling = new Telling().init().use("t1", name).ask("q", "t1", kind, name).answer("q", { behavior: "deny", reason: "shorter" });
  expect(call(telling.state, "t1").status).toBe("declined");
  telling.returned("t1", "The user wants it shorter", { is_error: true }).result({ permission_denials: [{ tool_name: name, tool_use_id: "t1", tool_input: {} }] });
  expect(call(telling.state, "t1").status).toBe("declined");
  expect(telling.state.rows.at(-1)).toMatchObject({ kind: "end", denials: [] });
});

test.each([
  "[Request interrupted by user for tool use]",
  "The user doesn't want to proceed with this tool use.",
  "The user does not want this tool to be used now, and it was not: no file was changed by it.",
])("a result that says %s is of an interrupted call, which is not counted as denied", (said) => {
  const telling = new Telling().init().use("t1").returned("t1", said, { is_error: true });
  telling.result({ subtype: "error_during_execution", is_error: true, permission_denials: [{ tool_name: "Bash", tool_use_id: "t1", tool_input: {} }] });
  expect(call(telling.state, "t1").status).toBe("interrupted");
  expect(telling.state.rows.at(-1)).toMatchObject({ denials: [] });
});

const progress = (output: string) => ({ kind: "live" as const, data: { type: "tool_progress", tool_use_id: "t1", elapsed_time_seconds: 1, output } });

test("the output of a running command is replaced, and removed with its result", () => {
  const telling = new Telling().init().use("t1");
  telling.events.push(progress("one\n"), progress("one\ntwo\n"));
  expect(call(telling.state, "t1").printed).toBe("one\ntwo\n");
  expect(call(telling.returned("t1").state, "t1").printed).toBe("");
});
