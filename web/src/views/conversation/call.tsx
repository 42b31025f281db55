// A tool call: one line until opened. The call of a subagent also shows what the subagent does, as it streams.

import { own } from "../../protocol/wire";
import type { Call } from "../../state/state";
import { useFolder } from "../../tools/folder";
import { toolOf } from "../../tools/registry";
import { strings } from "../../strings";
import { span } from "../../strings/figures";
import { Icon } from "../../ui/icon";
import { useClock } from "../../ui/use-clock";
import { RowView } from "./row";
import { useKeptFocus } from "./use-kept-focus";
import { useOpen } from "./use-open";

export function CallView({ call }: { call: Call }) {
  const tool = toolOf(call.name);
  const [open, setOpen] = useOpen(call.id);
  const focus = useKeptFocus([call.id]);
  const { verb, object, outcome } = tool.line(call, useFolder());
  return (
    <div className={`call ${call.status}`} data-tool={call.name}>
      <button ref={focus} type="button" className="call-line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span className="call-icon"><Icon name={tool.icon} /></span>
        <span className="call-verb">{verb}</span>
        {object && <code className="call-object one-line">{object}</code>}
        <span className="call-outcome soft one-line">{outcome}</span>
        {call.status === "running" && <RunningTime call={call} />}
        {call.edited && <span className="mark edited">{strings.conversation.edited}</span>}
        <StatusMark call={call} />
      </button>
      {open && (
        <div className="call-body">
          <tool.Body call={call} />
        </div>
      )}
      {call.rows.length + call.live.length > 0 && (
        <div className="call-rows">
          {[...call.rows, ...call.live].map((row) => (
            <RowView key={row.key} row={row} />
          ))}
        </div>
      )}
    </div>
  );
}

/** How long a call has been running, once that is worth mentioning. The CLI reports it every 30 seconds, the page counts in between. */
function RunningTime({ call }: { call: Call }) {
  const now = useClock(true);
  const ms = Math.max(now - call.started - call.waited, call.elapsed * 1000);
  return ms < WORTH_MENTIONING ? null : <span className="call-time soft" aria-hidden="true">{span(Math.floor(ms / 1000) * 1000)}</span>;
}

const WORTH_MENTIONING = 2000;

function StatusMark({ call: { name, status } }: { call: Call }) {
  const { statuses, declined } = strings.conversation;
  return <span className={`mark ${status}`}>{(status === "declined" && own(declined, name)) || statuses[status]}</span>;
}
