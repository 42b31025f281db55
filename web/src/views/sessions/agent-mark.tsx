// The sign of an ACP agent, and the agent of a session; nothing for a session of the server's own CLI.

import type { SessionShown } from "../../protocol/messages";
import { agentOf } from "../../state/agents";
import { strings } from "../../strings";
import { visible } from "../../ui/visible";
import "./agent-mark.css";

const words = strings.sessions.agents;

/** The first letter of its name. The style sheet writes it, so that it is not part of a label. */
export function AgentMark({ name }: { name: string }) {
  return <span className="agent-mark" data-letter={visible(name, true).slice(0, 1).toUpperCase()} aria-hidden="true" />;
}

export function AgentChip({ session }: { session: SessionShown }) {
  const name = agentOf(session);
  if (!name) return null;
  const shown = visible(name, true);
  return (
    <span className="agent-chip" title={words.answers(shown)}>
      <AgentMark name={name} />
      <span className="unseen">{words.label}: </span>
      <span className="one-line">{shown}</span>
    </span>
  );
}
