// The machine that runs a session, or ran it last; nothing outside a cluster.

import type { SessionShown } from "../../protocol/messages";
import { runnerOf } from "../../state/cluster";
import { strings } from "../../strings";
import { Icon } from "../../ui/icon";
import { visible } from "../../ui/visible";
import "./machine-chip.css";

const words = strings.machines.chip;
/** States without a process. */
const RESTS = ["hibernated", "failed", "interrupted"];

export function MachineChip({ session }: { session: SessionShown }) {
  const name = visible(runnerOf(session), true);
  if (!name) return null;
  const how = RESTS.includes(session.state) ? words.ran : words.runs;
  return (
    <span className="machine-chip" title={`${how} ${name}`}>
      <Icon name="machine" size={14} />
      <span className="unseen">{how} </span>
      <span className="one-line">{name}</span>
    </span>
  );
}
