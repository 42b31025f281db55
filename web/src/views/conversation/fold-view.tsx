// Consecutive read-only calls as one line that can be expanded.

import { strings } from "../../strings";
import { toolOf } from "../../tools/registry";
import { Icon } from "../../ui/icon";
import { CallView } from "./call";
import type { Fold } from "./fold";
import { useKeptFocus } from "./use-kept-focus";
import { useDetails } from "./use-open";

export function FoldView({ row }: { row: Fold }) {
  const objects = row.calls.map((call) => toolOf(call.name).line(call).object || call.name);
  const ids = row.calls.map((call) => call.id);
  const details = useDetails(row.key, ids);
  const focus = useKeptFocus(details.open ? [] : ids); // a closed fold hides the line that had the focus
  return (
    <details className="fold" {...details}>
      <summary ref={focus} className="call-line soft">
        <Icon name="search" /> <span className="one-line">{strings.conversation.looked(row.calls.length, objects)}</span>
      </summary>
      {row.calls.map((call) => (
        <CallView key={call.key} call={call} />
      ))}
    </details>
  );
}
