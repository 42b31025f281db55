// Several calls that only looked, as one line that opens.

import { strings } from "../../strings";
import { toolOf } from "../../tools/registry";
import { Icon } from "../../ui/icon";
import { CallView } from "./call";
import type { Fold } from "./fold";

export function FoldView({ row }: { row: Fold }) {
  const objects = row.calls.map((call) => toolOf(call.name).line(call).object || call.name);
  return (
    <details className="fold">
      <summary className="call-line soft">
        <Icon name="search" /> <span className="one-line">{strings.conversation.looked(row.calls.length, objects)}</span>
      </summary>
      {row.calls.map((call) => (
        <CallView key={call.key} call={call} />
      ))}
    </details>
  );
}
