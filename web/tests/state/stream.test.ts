// An answer while it is written.

import { expect, test } from "vitest";

import { reduce } from "../../src/state/reduce";
import { Telling } from "./telling";

const half = () => new Telling().init().start().block(0, { type: "text", text: "half" }).block(1, { type: "tool_use", id: "t1", name: "Bash" });

test("a whole block takes the place of its deltas, under the same name", () => {
  const telling = new Telling().init().start().block(0, { type: "text", text: "" }).delta(0, { type: "text_delta", text: "Hel" }).delta(0, { type: "text_delta", text: "lo" });
  const before = telling.state;
  expect(before.live).toMatchObject([{ kind: "text", text: "Hello", live: true }]);
  const after = telling.assistant("Hello").state;
  expect(after.live).toEqual([]);
  expect(after.rows).toMatchObject([{ text: "Hello", live: false, key: before.live[0]!.key }]);
});

test("thinking and the input of a tool grow as well", () => {
  const telling = new Telling().init().start().block(0, { type: "thinking", thinking: "" }).delta(0, { type: "thinking_delta", thinking: "hm" }).delta(0, { type: "signature_delta", signature: "x" });
  expect(telling.state).toMatchObject({ live: [{ kind: "thinking", text: "hm" }], turn: { doing: "thinking" } });
  telling.assistant({ type: "thinking", thinking: "hm" }).block(1, { type: "tool_use", id: "t1", name: "Bash", input: {} }).delta(1, { type: "input_json_delta", partial_json: '{"comm' });
  expect(telling.state).toMatchObject({ live: [{ kind: "call", id: "t1", status: "typing", typed: '{"comm' }], turn: { doing: "typing" } });
});

test("whoever joins late is told the block so far, from its beginning", () => {
  const telling = new Telling().init().start().block(0, { type: "text", text: "" }).delta(0, { type: "text_delta", text: "Hello" });
  const again = reduce(telling.state, new Telling().start().block(0, { type: "text", text: "" }).delta(0, { type: "text_delta", text: "Hello you" }).events);
  expect(again.live).toMatchObject([{ text: "Hello you" }]);
});

test("what the API failed to finish is not shown any more", () => {
  expect(half().system("api_retry", { attempt: 1, max_retries: 10, retry_delay_ms: 500 }).state.live).toEqual([]);
  expect(half().stream({ type: "message_stop" }, { abandoned_blocks: { api_message_id: "m1", from_block_index: 0 } }).state.live).toEqual([]);
  expect(half().start("m2").state.live).toEqual([]);
});

test("a call that is typed stays until it is whole, also past the end of its message", () => {
  const telling = new Telling().init().start().block(0, { type: "tool_use", id: "t1", name: "Bash" }).stream({ type: "message_stop" });
  expect(telling.state.live).toHaveLength(1);
  expect(telling.use("t1").state.live).toEqual([]);
});

test("of subagents only what is whole is shown", () => {
  const telling = new Telling().init().stream({ type: "content_block_start", index: 0, content_block: { type: "text", text: "x" } }, { parent_tool_use_id: "t1" });
  expect(telling.state.live).toEqual([]);
});

test("a delta without a block, or of another kind than it, is nothing", () => {
  expect(new Telling().delta(0, { type: "text_delta", text: "x" }).state.live).toEqual([]);
  expect(new Telling().start().block(0, { type: "thinking", thinking: "" }).delta(0, { type: "text_delta", text: "x" }).state.live).toMatchObject([{ text: "" }]);
});
