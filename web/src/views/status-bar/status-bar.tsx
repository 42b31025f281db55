// The status bar below the message field: model, mode, effort, context, cost. Each part opens its details.

import { useAbout } from "../../state/about";
import { useBridge } from "../../state/bridge";
import type { Followed } from "../../state/followed";
import { openPanel, usePage } from "../../state/page";
import { strings } from "../../strings";
import { percent, portion } from "../../strings/figures";
import { FULL, Gauge } from "../../ui/gauge";
import { Icon } from "../../ui/icon";
import { CostButton } from "./cost-button";
import { ModeMenu } from "./mode-menu";
import { ModelMenu } from "./model-menu";
import "./status-bar.css";

const words = strings.panels.statusBar;

export function StatusBar({ followed }: { followed: Followed }) {
  const about = useAbout(followed);
  const thinking = [about.effort && words.effort(about.effort), about.thinkingTokens !== null && words.thinking(about.thinkingTokens), about.fastMode === "on" && words.fast].filter(Boolean).join(" · ");
  return (
    <div className="status-bar small" role="group" aria-label={words.label}>
      <ModelMenu followed={followed} />
      <ModeMenu followed={followed} />
      {thinking && (
        <button type="button" className="status-part soft" onClick={() => openPanel("settings")}>
          {thinking}
        </button>
      )}
      <TasksBadge followed={followed} />
      <span className="status-end">
        <ContextButton followed={followed} />
        <CostButton followed={followed} />
      </span>
    </div>
  );
}

function ContextButton({ followed }: { followed: Followed }) {
  const { used, total } = followed.use((shown) => shown.state.context);
  const open = usePage((page) => page.panel === "context");
  if (!used || !total) return null;
  const share = percent(used, total);
  const full = share > FULL;
  return (
    <button type="button" className={full ? "status-part context full" : "status-part context"} aria-expanded={open} title={words.contextTip} onClick={() => openPanel("context")}>
      <span><span className="status-word">{words.context} </span>{portion(used, total)}{full && `, ${words.contextFull}`}</span>
      <span className="status-gauge" aria-hidden="true"><Gauge label="" percent={share} full={full} /></span>
    </button>
  );
}

/** Sessions in these states have no background tasks. */
const ASLEEP = ["hibernated", "interrupted"];

/** Shown while there are tasks or background tasks. It never opens the panel by itself. */
function TasksBadge({ followed }: { followed: Followed }) {
  const tasks = followed.use((shown) => shown.state.tasks);
  const running = followed.use((shown) => shown.state.background.filter((one) => one.status === "running").length);
  const alive = useBridge((known) => !ASLEEP.includes(known.sessions.get(followed.id)?.state ?? ""));
  const open = usePage((page) => page.panel === "tasks");
  const background = alive ? running : 0;
  if (tasks.length === 0 && background === 0) return null;
  const done = tasks.filter((one) => one.status === "completed").length;
  const parts = [tasks.length > 0 && words.tasksDone(done, tasks.length), background > 0 && words.background(background)].filter(Boolean);
  return (
    <button type="button" className="status-part badge" aria-expanded={open} onClick={() => openPanel("tasks")}>
      <Icon name="list" size={14} />
      <span>{tasks.length > 0 && <span className="status-word">{words.tasks} </span>}{parts.join(" · ")}</span>
    </button>
  );
}
