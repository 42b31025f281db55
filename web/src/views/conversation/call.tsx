// A tool call: one line until opened. The call of a subagent also shows what the subagent does, as it streams.

import { useState } from "react";

import type { Call, CallStatus } from "../../state/state";
import { useFolder } from "../../tools/folder";
import { toolOf } from "../../tools/registry";
import { strings } from "../../strings";
import { Icon } from "../../ui/icon";
import { RowView } from "./row";

/** Which calls are open. Kept outside the component, because rows outside the viewport are unmounted. */
const opened = new Map<string, boolean>();

export function CallView({ call }: { call: Call }) {
  const tool = toolOf(call.name);
  const [open, setOpen] = useState(opened.get(call.id) ?? false);
  const { verb, object, outcome } = tool.line(call, useFolder());
  const toggle = () => {
    opened.set(call.id, !open);
    setOpen(!open);
  };
  return (
    <div className={`call ${call.status}`} data-tool={call.name}>
      <button type="button" className="call-line" aria-expanded={open} onClick={toggle}>
        <span className="call-icon"><Icon name={tool.icon} /></span>
        <span className="call-verb">{verb}</span>
        {object && <code className="call-object one-line">{object}</code>}
        <span className="call-outcome soft one-line">{outcome}</span>
        <StatusMark status={call.status} />
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

function StatusMark({ status }: { status: CallStatus }) {
  return <span className={`mark ${status}`}>{strings.conversation.statuses[status]}</span>;
}
