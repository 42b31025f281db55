// A streaming answer.

import { describe, expect, test } from "vitest";

import { reduce } from "../../src/state/reduce";
import { call, Telling } from "./telling";

const half = () => new Telling().init().start().block(0, { type: "text", text: "half" }).block(1, { type: "tool_use", id: "t1", name: "Bash" });

test("a whole block takes the place of its deltas, under the same name", () => {
  const telling = new Telling().init().start().block(0, { type: "text", text: "" }).delta(0, { type: "text_delta", text: "Hel" }).delta(0, { type: "text_delta", text: "lo" });
  const before = telling.state;
  expect(before.live).toMatchObject([{ kind: "text", text: "Hello", live: true }]);
  const after = telling.assistant("Hello").state;
  expect(after.live).toEqual([]);
  expect(after.rows).toMatchObject([{ text: "Hello", live: false, key: before.live[0]!.key }]);
});

test.each(["tool_use", "server_tool_use"])("a complete call replaces its own streaming row: %s", (type) => {
  const typed = new Telling().init().start().block(0, { type, id: "t1", name: "first" }).block(1, { type, id: "t2", name: "second" });
  expect(typed.assistant({ type, id: "t1", name: "first", input: {} }).state).toMatchObject({ rows: [{ key: "t1" }], live: [{ key: "t2" }] });
  expect(typed.assistant({ type, id: "t2", name: "second", input: {} }).state).toMatchObject({ rows: [{ key: "t1" }, { key: "t2" }], live: [] });
});

test("thinking and tool input stream as well", () => {
  const telling = new Telling().init().start().block(0, { type: "thinking", thinking: "" }).delta(0, { type: "thinking_delta", thinking: "hm" }).delta(0, { type: "signature_delta", signature: "x" });
  expect(telling.state).toMatchObject({ live: [{ kind: "thinking", text: "hm" }], turn: { doing: "thinking" } });
  telling.assistant({ type: "thinking", thinking: "hm" }).block(1, { type: "tool_use", id: "t1", name: "Bash", input: {} }).delta(1, { type: "input_json_delta", partial_json: '{"comm' });
  expect(telling.state).toMatchObject({ live: [{ kind: "call", id: "t1", status: "typing", typed: '{"comm' }], turn: { doing: "typing" } });
});

test("a client that joins late gets the block so far from its beginning", () => {
  const telling = new Telling().init().start().block(0, { type: "text", text: "" }).delta(0, { type: "text_delta", text: "Hello" });
  const again = reduce(telling.state, new Telling().start().block(0, { type: "text", text: "" }).delta(0, { type: "text_delta", text: "Hello you" }).events);
  expect(again.live).toMatchObject([{ text: "Hello you" }]);
});

test("an answer that the API did not finish is removed", () => {
  expect(half().system("api_retry", { attempt: 1, max_retries: 10, retry_delay_ms: 500 }).state.live).toEqual([]);
  expect(half().stream({ type: "message_stop" }, { abandoned_blocks: { api_message_id: "m1", from_block_index: 0 } }).state.live).toEqual([]);
  expect(half().start("m2").state.live).toEqual([]);
});

test("a call that is typed stays until it is whole, also past the end of its message", () => {
  const telling = new Telling().init().start().block(0, { type: "tool_use", id: "t1", name: "Bash" }).stream({ type: "message_stop" });
  expect(telling.state.live).toHaveLength(1);
  expect(telling.use("t1").state.live).toEqual([]);
});

const of = (parent: string) => ({ parent_tool_use_id: parent, api_message_id: `of-${parent}` });
const writing = (telling: Telling, parent: string, text: string) =>
  telling
    .stream({ type: "message_start", message: { id: `of-${parent}` } }, of(parent))
    .stream({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }, of(parent))
    .stream({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }, of(parent));
const two = () => writing(writing(new Telling().init().use("t1", "Task").use("t2", "Task"), "t1", "one"), "t2", "two");

describe("subagents", () => {

  test("text streams inside the call of the subagent", () => {
    const { state } = two();
    expect(state.live).toEqual([]);
    expect([call(state, "t1").live, call(state, "t2").live]).toMatchObject([[{ kind: "text", text: "one", live: true }], [{ kind: "text", text: "two" }]]);
  });

  test("the complete block replaces the streaming one under the same key", () => {
    const before = two().state;
    const { state } = two().assistant("one", { parent_tool_use_id: "t1", message: { id: "of-t1", content: "one" } });
    expect(call(state, "t1")).toMatchObject({ live: [], rows: [{ text: "one", live: false, key: call(before, "t1").live[0]!.key }] });
    expect(call(state, "t2").live).toHaveLength(1);
  });

  test("the tool calls of a subagent stream too", () => {
    const telling = two().stream({ type: "content_block_start", index: 1, content_block: { type: "tool_use", id: "n1", name: "Read" } }, of("t1"));
    expect(call(telling.state, "t1").live).toMatchObject([{ kind: "text" }, { kind: "call", id: "n1", status: "typing" }]);
    expect(call(telling.use("n1", "Read", {}, "t1").state, "t1")).toMatchObject({ live: [{ kind: "text" }], rows: [{ id: "n1", status: "running" }] });
  });

  test("streaming text neither starts a turn nor changes the status of one", () => {
    expect(two().state.turn).toMatchObject({ running: true, doing: "" });
    const background = new Telling().init().use("t1", "Task").system("task_started", { task_id: "k", tool_use_id: "t1", is_backgrounded: true }).result();
    expect(writing(background, "t1", "later").state.turn.running).toBe(false);
    expect(call(background.state, "t1").live).toMatchObject([{ text: "later" }]);
  });

  test("a result, a stop and a retry drop the unfinished text", () => {
    expect(call(two().returned("t1", "done").state, "t1").live).toEqual([]);
    expect(call(two().result({ is_error: true }).state, "t1").live).toEqual([]);
    expect(call(two().system("api_retry", { attempt: 1, parent_tool_use_id: "t1" }).state, "t1").live).toEqual([]);
  });

  test("stream events of a call that is not loaded are ignored", () => {
    expect(writing(new Telling().init(), "t9", "x").state).toMatchObject({ rows: [], live: [] });
  });
});

test("a CLI that names the message only at its start keeps the key of a block", () => {
  const plain = { api_message_id: undefined };
  const telling = new Telling().init().stream({ type: "message_start", message: { id: "m1" } }, plain).stream({ type: "content_block_start", index: 0, content_block: { type: "text", text: "a" } }, plain);
  expect(telling.state.live[0]!.key).toBe(telling.assistant("a").state.rows[0]!.key);
});

test("a delta without a block, or of another kind than it, is nothing", () => {
  expect(new Telling().delta(0, { type: "text_delta", text: "x" }).state.live).toEqual([]);
  expect(new Telling().start().block(0, { type: "thinking", thinking: "" }).delta(0, { type: "text_delta", text: "x" }).state.live).toMatchObject([{ text: "" }]);
});
