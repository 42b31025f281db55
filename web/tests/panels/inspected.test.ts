// Lines for the inspector.

import { expect, test } from "vitest";

import { fits, joined, linesOfEvents, linesOfWire, pairOf } from "../../src/views/panels/inspected";

const frames = [
  { n: 1, time: 5, direction: "to_cli", frame: { type: "control_request", request_id: "r1", request: { subtype: "initialize" } } },
  { n: 2, time: 6, direction: "from_cli", frame: { type: "control_response", response: { subtype: "success", request_id: "r1" } } },
  { n: 3, time: 7, direction: "from_cli", frame: { type: "stream_event", event: { type: "content_block_delta" } } },
  { n: 4, time: 8, direction: "from_cli", frame: { type: "system", subtype: "init", model: "opus" } },
];
const lines = linesOfWire({ frames });
const all = { text: "", direction: "", stream: true };
const numbers = (filter: Partial<typeof all>) => lines.filter((one) => fits(one, { ...all, ...filter })).map((one) => one.n);

test("a line is named by its type and what it is about", () => {
  expect(lines.map((one) => one.type)).toEqual(["control_request · initialize", "control_response · success", "stream_event · content_block_delta", "system · init"]);
});

test("a request and its answer find each other", () => {
  expect(pairOf(lines, lines[0]!)).toBe(2);
  expect(pairOf(lines, lines[1]!)).toBe(1);
  expect(pairOf(lines, lines[3]!)).toBe(0);
});

test("lines are found by text, type and direction; deltas only when wanted", () => {
  expect(numbers({ text: "OPUS" })).toEqual([4]);
  expect(numbers({ text: "control" })).toEqual([1, 2]);
  expect(numbers({ direction: "to_cli" })).toEqual([1]);
  expect(numbers({ stream: false })).toEqual([1, 2, 4]);
});

test("persisted events name their sender, and a question is linked to its answer", () => {
  const events = linesOfEvents([
    { kind: "said", seq: 1, time: 1, data: { text: "hello" } },
    { kind: "frame", seq: 2, time: 1, data: { type: "assistant" } },
    { kind: "asked", seq: 3, time: 1, data: { question: "q" } },
    { kind: "answered", seq: 4, time: 1, data: { question: "q" } },
    { kind: "frame", seq: 5, time: 1, bytes: 900 },
  ]);
  expect(events.map((one) => one.direction)).toEqual(["to_cli", "from_cli", "bridge", "to_cli", "from_cli"]);
  expect(pairOf(events, events[2]!)).toBe(4);
});

test("duplicates appear once, and the oldest are dropped above the limit", () => {
  expect(joined(lines.slice(0, 2), lines).map((one) => one.n)).toEqual([1, 2, 3, 4]);
  const many = Array.from({ length: 5100 }, (_, at) => ({ ...lines[0]!, n: at + 1 }));
  expect(joined([], many)).toHaveLength(5000);
});

test("frames of any shape are accepted", () => {
  expect(linesOfWire({ frames: [{ n: 1, frame: "text" }, { n: 2, bytes: 70_000 }, 7] }).map((one) => one.whole)).toEqual(['"text"', '{"bytes":70000}']);
});
