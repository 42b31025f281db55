// TaskCreate, TaskUpdate, TaskList, TaskGet, TodoWrite: the task list.

import { object, objects, own, text, texts, type Json } from "../protocol/wire";
import type { Call } from "../state/state";
import { strings } from "../strings";
import { Icon } from "../ui/icon";
import { visible } from "../ui/visible";
import { lineOf } from "./outcome";
import { Fields, Note, Result } from "./parts";
import type { Tool } from "./tool";
import { inputOf } from "./typed";

const { tasks, verbs } = strings.tools;

const ICONS = { completed: "check", in_progress: "chevron", pending: "dot" } as const;
const statusOf = (task: Json): keyof typeof ICONS => (Object.hasOwn(ICONS, text(task["status"])) ? (task["status"] as keyof typeof ICONS) : "pending");

/** Tasks, each with an icon and a word for its status. */
function TaskRows({ rows }: { rows: Json[] }) {
  if (rows.length === 0) return <Note>{tasks.none}</Note>;
  return (
    <ul className="tool-list">
      {rows.map((task, at) => {
        const status = statusOf(task);
        const waits = texts(task["blockedBy"]);
        return (
          <li key={at} className={status === "completed" ? "done" : undefined}>
            <Icon name={ICONS[status]} size={14} />
            <span>
              {text(task["id"]) && <span className="soft">#{visible(text(task["id"]), true)} </span>}
              {visible(text(task["subject"]) || text(task["content"]), true)} <span className="soft">· {tasks.statuses[status]}{waits.length > 0 && ` · ${tasks.waits(waits.map((one) => visible(one, true)))}`}</span>
            </span>
          </li>
        );
      })}
    </ul>
  );
}

const toldTask = (call: Call): Json => object(object(call.detail)["task"]);
const number = (id: string): string => (id ? `#${id}` : "");

/** A task, or what changes in one, with its fields in words. */
function OneBody({ call }: { call: Call }) {
  if (call.status === "failed" || call.status === "denied") return <Result call={call} />;
  return <Fields fields={inWords({ ...inputOf(call), ...toldTask(call) })} />;
}

const ids = (value: unknown): string => texts(value).map((one) => `#${one}`).join(", ");

function inWords(told: Json): Json {
  const { id, taskId, status, addBlockedBy, blockedBy, addBlocks, blocks, ...others } = told;
  const named = Object.entries(others).map(([name, value]) => [own(tasks.fields, name) ?? name, value] as const);
  const waits = ids(addBlockedBy) || ids(blockedBy);
  const holds = ids(addBlocks) || ids(blocks);
  return {
    ...(text(id ?? taskId) && { task: number(text(id ?? taskId)) }),
    ...Object.fromEntries(named),
    ...(text(status) && { [tasks.status]: status === "deleted" ? tasks.deleted : tasks.statuses[statusOf(told)] }),
    ...(waits && { [tasks.blockedBy]: waits }),
    ...(holds && { [tasks.blocks]: holds }),
  };
}

export const taskCreateTool: Tool = {
  icon: "list",
  line: (call) => lineOf(verbs.taskCreate, call, text(inputOf(call)["subject"]), number(text(toldTask(call)["id"]))),
  Body: OneBody,
};

/** The other changed fields of a task, in words. */
function changesOf(input: Json): string {
  const waits = texts(input["addBlockedBy"]).map((one) => visible(one, true));
  const holds = texts(input["addBlocks"]).map((one) => visible(one, true));
  const others = Object.keys(input).filter((name) => Object.hasOwn(tasks.fields, name)).map((name) => tasks.fields[name]!);
  return [waits.length > 0 && tasks.waits(waits), holds.length > 0 && tasks.holds(holds), ...others].filter(Boolean).join(", ");
}

export const taskUpdateTool: Tool = {
  icon: "list",
  line(call) {
    const input = inputOf(call);
    const status = text(input["status"]);
    const words = status === "deleted" ? tasks.deleted : status ? tasks.statuses[statusOf(input)] : changesOf(input);
    return lineOf(verbs.taskUpdate, call, [number(text(input["taskId"])), text(input["subject"])].filter(Boolean).join(" "), words);
  },
  Body: OneBody,
};

export const taskGetTool: Tool = {
  icon: "list",
  looks: true,
  line: (call) => lineOf(verbs.taskGet, call, [number(text(inputOf(call)["taskId"])), text(toldTask(call)["subject"])].filter(Boolean).join(" ")),
  Body: OneBody,
};

const rowsOf = (call: Call): Json[] => objects(object(call.detail)["tasks"]);

export const taskListTool: Tool = {
  icon: "list",
  looks: true,
  line: (call) => lineOf(verbs.taskList, call, "", call.status === "done" && tasks.done(rowsOf(call).filter((one) => one["status"] === "completed").length, rowsOf(call).length)),
  Body: ({ call }) => (rowsOf(call).length ? <TaskRows rows={rowsOf(call)} /> : <Result call={call} />),
};

export const todoWriteTool: Tool = {
  icon: "list",
  line(call) {
    const rows = objects(inputOf(call)["todos"]);
    const active = rows.find((one) => one["status"] === "in_progress");
    return lineOf(verbs.todo, call, "", rows.length > 0 && tasks.done(rows.filter((one) => one["status"] === "completed").length, rows.length), active && (text(active["activeForm"]) || text(active["content"])));
  },
  Body({ call }) {
    return (
      <>
        {(call.status === "failed" || call.status === "denied") && <Result call={call} />}
        <TaskRows rows={objects(inputOf(call)["todos"])} />
      </>
    );
  },
};
