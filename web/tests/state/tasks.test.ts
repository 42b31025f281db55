// The to-do list.

import { expect, test } from "vitest";

import { Telling } from "./telling";

const made = (telling: Telling, id: string, number: string, subject: string) => telling.use(id, "TaskCreate", { subject, activeForm: `${subject}ing` }).returned(id, `Task #${number} created`, { tool_use_result: { task: { id: number } } });

test("tasks are made, changed, made to wait for each other, and removed", () => {
  const telling = new Telling().init();
  made(telling, "a", "1", "Read");
  made(telling, "b", "2", "Write");
  expect(telling.state.tasks).toMatchObject([{ id: "1", subject: "Read", active: "Reading", status: "pending" }, { id: "2" }]);
  telling.use("c", "TaskUpdate", { taskId: "1", status: "in_progress", addBlocks: ["2"] }).returned("c");
  expect(telling.state.tasks).toMatchObject([{ status: "in_progress" }, { id: "2", blockedBy: ["1"] }]);
  telling.use("d", "TaskUpdate", { taskId: "1", status: "deleted" }).returned("d");
  expect(telling.state.tasks).toMatchObject([{ id: "2" }]);
});

test("a task gets its number when it is created, and a failed change is ignored", () => {
  const telling = new Telling().init().use("a", "TaskCreate", { subject: "x" });
  expect(telling.state.tasks).toEqual([]);
  expect(telling.returned("a", "no", { is_error: true }).state.tasks).toEqual([]);
});

test("an older CLI reports the number in a sentence", () => {
  expect(new Telling().init().use("a", "TaskCreate", { subject: "x" }).returned("a", "Task #7 created successfully: x").state.tasks).toMatchObject([{ id: "7", subject: "x" }]);
});

test("a task list updates all tasks", () => {
  const telling = new Telling().init();
  made(telling, "a", "1", "Read");
  telling.use("l", "TaskList").returned("l", "…", { tool_use_result: { tasks: [{ id: "1", subject: "Read", status: "completed", blockedBy: [] }, { id: "2", subject: "New", status: "pending", blockedBy: ["1"] }] } });
  expect(telling.state.tasks).toMatchObject([{ id: "1", status: "completed", active: "Reading" }, { id: "2", blockedBy: ["1"] }]);
});

test("a todo list is written as a whole, already when it is asked for", () => {
  const todos = [{ content: "one", status: "completed", activeForm: "One" }, { content: "two", status: "in_progress", activeForm: "Two" }];
  expect(new Telling().init().use("w", "TodoWrite", { todos }).state.tasks).toMatchObject([{ subject: "one", status: "completed" }, { subject: "two", active: "Two" }]);
});

test("clearing a conversation clears its lists", () => {
  const telling = new Telling().init();
  made(telling, "a", "1", "Read");
  expect(telling.frame({ type: "conversation_reset" }).state.tasks).toEqual([]);
});
