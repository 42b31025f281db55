// The task list, updated from calls of the task tools when they start and when they have a result.

import { object, objects, own, plain, text, texts, type Json } from "../protocol/wire";
import type { Sketch } from "./sketch";
import type { Call, Task } from "./state";

type Keeper = (tasks: Task[], call: Call) => Task[];

/** Limit on the number of tasks. */
export const MOST_TASKS = 500;

/** Apply a call that may change the list. */
export function follow(sketch: Sketch, call: Call): void {
  const keep = own(KEEPERS, call.name);
  if (keep && call.status !== "failed" && call.status !== "denied") sketch.state.tasks = keep(sketch.state.tasks, call).slice(0, MOST_TASKS);
}

const KEEPERS: Record<string, Keeper> = {
  TaskCreate(tasks, call) {
    const told = object(object(call.detail)["task"]);
    const id = text(told["id"]) || /#(\w+)/.exec(plain(call.result))?.[1] || "";
    if (call.status !== "done" || !id) return tasks; // the id is known only from the result
    return put(tasks, { ...blank(id), subject: text(call.input["subject"]), description: text(call.input["description"]), active: text(call.input["activeForm"]) });
  },
  TaskUpdate(tasks, call) {
    const id = text(call.input["taskId"]);
    if (call.status !== "done") return tasks;
    if (call.input["status"] === "deleted") return tasks.filter((one) => one.id !== id);
    const known = tasks.find((one) => one.id === id) ?? blank(id);
    const blocked = [...known.blockedBy, ...texts(call.input["addBlockedBy"])];
    const changed = put(tasks, { ...known, ...fields(call.input), blockedBy: [...new Set(blocked)] });
    const blocks = texts(call.input["addBlocks"]);
    return changed.map((one) => (blocks.includes(one.id) ? { ...one, blockedBy: [...new Set([...one.blockedBy, id])] } : one));
  },
  TaskList(tasks, call) {
    const told = objects(object(call.detail)["tasks"]).slice(0, MOST_TASKS);
    return told.reduce<Task[]>((all, one) => put(all, { ...(all.find((known) => known.id === text(one["id"])) ?? blank(text(one["id"]))), ...fields(one), blockedBy: texts(one["blockedBy"]) }), tasks);
  },
  TodoWrite(_tasks, call) {
    return objects(call.input["todos"]).slice(0, MOST_TASKS).map((one, at) => ({ ...blank(`todo-${at + 1}`), ...fields({ ...one, subject: one["content"] }) }));
  },
};

const blank = (id: string): Task => ({ id, subject: "", description: "", active: "", status: "pending", owner: "", blockedBy: [] });
const put = (tasks: Task[], task: Task): Task[] => (tasks.some((one) => one.id === task.id) ? tasks.map((one) => (one.id === task.id ? task : one)) : [...tasks, task]);

function fields(told: Json): Partial<Task> {
  const status = text(told["status"]);
  return {
    ...(told["subject"] !== undefined && { subject: text(told["subject"]) }),
    ...(told["description"] !== undefined && { description: text(told["description"]) }),
    ...(told["activeForm"] !== undefined && { active: text(told["activeForm"]) }),
    ...(told["owner"] !== undefined && { owner: text(told["owner"]) }),
    ...(["pending", "in_progress", "completed"].includes(status) && { status: status as Task["status"] }),
  };
}
