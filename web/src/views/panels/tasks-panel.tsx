// The model's task list, and the background tasks.

import { own } from "../../protocol/wire";
import { command, useMay } from "../../state/bridge";
import type { Followed } from "../../state/followed";
import type { Background, Task } from "../../state/state";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import { visible } from "../../ui/visible";
import "./tasks-panel.css";

const words = strings.panels.tasks;
const GROUPS = ["in_progress", "pending", "completed"] as const;

export function TasksPanel({ followed }: { followed: Followed }) {
  const tasks = followed.use((shown) => shown.state.tasks);
  const background = followed.use((shown) => shown.state.background);
  const done = tasks.filter((one) => one.status === "completed").length;
  return (
    <>
      <section className="panel-part" aria-label={words.list}>
        {tasks.length === 0 ? <p className="soft">{words.none}</p> : <p role="status">{words.progress(done, tasks.length)}</p>}
        {GROUPS.map((status) => (
          <Group key={status} status={status} tasks={tasks.filter((one) => one.status === status)} all={tasks} />
        ))}
      </section>
      {background.length > 0 && (
        <section className="panel-part" aria-label={words.background}>
          <h3>{words.background}</h3>
          <ul className="panel-tasks">
            {background.toReversed().toSorted((a, b) => Number(b.status === "running") - Number(a.status === "running")).map((one) => (
              <BackgroundView key={one.id} session={followed.id} task={one} />
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function Group({ status, tasks, all }: { status: Task["status"]; tasks: Task[]; all: Task[] }) {
  if (tasks.length === 0) return null;
  return (
    <>
      <h3>{words.groups[status]}</h3>
      <ul className="panel-tasks">
        {tasks.map((task) => (
          <TaskView key={task.id} task={task} all={all} />
        ))}
      </ul>
    </>
  );
}

function TaskView({ task, all }: { task: Task; all: Task[] }) {
  const open = task.blockedBy.filter((id) => all.find((one) => one.id === id)?.status !== "completed");
  const working = task.status === "in_progress";
  const number = /^\d+$/.test(task.id) ? `#${task.id} ` : "";
  return (
    <li className={`task ${task.status}`} aria-current={working ? "step" : undefined}>
      <Mark status={task.status} />
      <span className="grow">
        <span className="unseen">{words.statuses[task.status]}: </span>
        {number && <span className="soft">{number}</span>}
        {visible((working && task.active) || task.subject)}
        {working && task.active && task.subject && task.active !== task.subject && <span className="soft task-line">{visible(task.subject)}</span>}
        {open.length > 0 && task.status !== "completed" && <span className="soft task-line">{words.blocked(open)}</span>}
        {task.owner && <span className="soft task-line">{words.owner(visible(task.owner, true))}</span>}
        {task.description && task.description !== task.subject && (
          <details className="soft">
            <summary>{words.details}</summary>
            {visible(task.description)}
          </details>
        )}
      </span>
    </li>
  );
}

function Mark({ status }: { status: Task["status"] | Background["status"] }) {
  if (status === "completed") return <span className="task-mark done"><Icon name="check" /></span>;
  if (status === "failed" || status === "stopped") return <span className={`task-mark ${status}`}><Icon name={status === "failed" ? "cross" : "stop"} /></span>;
  return <span className={`task-mark ${status === "pending" ? "outline" : "spinner"}`} aria-hidden="true" />;
}

function BackgroundView({ session, task }: { session: string; task: Background }) {
  const allowed = useMay("prompt");
  const running = task.status === "running";
  const kind = own(words.kinds, task.type) ?? "";
  const facts = [kind, running ? words.running : (words.ended[task.status] ?? task.status), running && task.lastTool ? words.uses(visible(task.lastTool, true)) : "", task.tokens ? words.tokens(task.tokens) : ""];
  return (
    <li className={`task ${running ? "in_progress" : task.status}`}>
      <Mark status={task.status} />
      <span className="grow">
        {visible(task.description || task.summary)}
        <span className="soft task-line">{facts.filter(Boolean).join(" · ")}</span>
        {task.summary && task.summary !== task.description && <span className="task-line">{visible(task.summary)}</span>}
      </span>
      {running && (
        <Button kind="quiet" aria-label={words.stopNamed(visible(task.description, true))} disabled={!allowed} title={allowed ? "" : strings.panels.needsScope("prompt")} onClick={() => void command("stop_task", { session, task: task.id })}>
          <Icon name="stop" /> {words.stop}
        </Button>
      )}
    </li>
  );
}
