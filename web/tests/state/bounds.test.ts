// A CLI that sends very much or in a slow form: the state stays small and quick to build.

import { expect, test } from "vitest";

import type { Event } from "../../src/protocol/messages";
import { MOST_TASKS } from "../../src/state/tasks";
import { LONGEST_LIVE, MOST_LIVE } from "../../src/state/stream";
import { MOST_BACKGROUND } from "../../src/state/system";
import { reduce, replay } from "../../src/state/reduce";
import { EMPTY, type Call, type Row } from "../../src/state/state";

const frame = (data: Record<string, unknown>, seq?: number): Event => ({ kind: seq === undefined ? "live" : "frame", seq, time: 1, data }) as Event;
const many = <One>(count: number, make: (at: number) => One): One[] => Array.from({ length: count }, (_, at) => make(at + 1));
const call = (id: string, name: string, input: unknown, parent: string | null = null) => ({ type: "assistant", parent_tool_use_id: parent, message: { id: `m${id}`, content: [{ type: "tool_use", id, name, input }] } });
const result = (id: string, detail: unknown) => ({ type: "user", tool_use_result: detail, message: { content: [{ type: "tool_result", tool_use_id: id, content: "" }] } });
const event = (told: Record<string, unknown>) => frame({ type: "stream_event", event: told });
const depth = (rows: readonly Row[]): number => 1 + Math.max(0, ...rows.map((row) => (row.kind === "call" && row.rows.length ? depth(row.rows) : 0)));

test("rows with the same name get distinct names quickly", () => {
  const { rows } = replay(many(30_000, (seq) => frame({ type: "result", subtype: "success", uuid: "same" }, seq)));
  expect(new Set(rows.map((row) => row.key)).size).toBe(30_000);
});

test("deeply nested subagents are shown side by side from some depth on", () => {
  const { rows } = replay(many(3000, (seq) => frame(call(`c${seq}`, "Task", {}, seq > 1 ? `c${seq - 1}` : null), seq)));
  expect(depth(rows)).toBeLessThan(20);
});

test("a list of tasks has an end", () => {
  const todos = many(20_000, (at) => ({ id: String(at), content: `do ${at}`, status: "pending" }));
  expect(replay([frame(call("a", "TodoWrite", { todos }), 1)]).tasks).toHaveLength(MOST_TASKS);
  expect(replay([frame(call("a", "TaskList", {}), 1), frame(result("a", { tasks: todos }), 2)]).tasks).toHaveLength(MOST_TASKS);
});

test("work in the background too", () => {
  const tasks = many(20_000, (at) => ({ task_id: `t${at}`, description: "" }));
  expect(replay([frame({ type: "system", subtype: "background_tasks_changed", tasks }, 1)]).background).toHaveLength(MOST_BACKGROUND);
  expect(replay(many(3000, (seq) => frame({ type: "system", subtype: "task_started", task_id: `t${seq}` }, seq))).background).toHaveLength(MOST_BACKGROUND);
});

test("streaming blocks are limited in size and number", () => {
  const begin = event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } });
  const state = reduce(EMPTY, [begin, ...many(300, () => event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "x".repeat(10_000) } }))]);
  expect((state.live[0] as { text: string }).text.length).toBeLessThanOrEqual(LONGEST_LIVE + 10_000);
  const blocks = many(2000, (index) => event({ type: "content_block_start", index, content_block: { type: "tool_use", id: `b${index}`, name: "Bash" } }));
  expect(reduce(EMPTY, blocks).live).toHaveLength(MOST_LIVE);
});

test.each(["toString", "constructor", "__proto__", "valueOf", "hasOwnProperty"])("a tool, a line and a block named %s are unknown ones, and break nothing", (name) => {
  const state = replay([frame(call("a", name, {}), 1), frame({ type: name }, 2), frame({ type: "system", subtype: name }, 3), frame({ type: "assistant", message: { content: [{ type: name }] } }, 4), { kind: name, seq: 5, data: {} } as unknown as Event]);
  expect(state.tasks).toEqual([]);
  expect(state.rows.map((row) => row.kind)).toEqual(["call", "unknown", "unknown", "unknown", "unknown"]);
  expect((state.rows[0] as Call).name).toBe(name);
});

test("keys of Object.prototype change nothing", () => {
  const told = JSON.parse('{"type":"assistant","__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}},"message":{"content":[{"type":"tool_use","id":"a","name":"Bash","input":{"__proto__":{"isAdmin":true}}}]}}') as Record<string, unknown>;
  replay([frame(told, 1)]);
  expect(({} as Record<string, unknown>)["isAdmin"]).toBeUndefined();
});
