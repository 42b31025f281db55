// The sign of an ACP agent, and the agent of a session; nothing for a session of the server's own CLI.

import type { SessionShown } from "../../protocol/messages";
import { agentOf } from "../../state/agents";
import { strings } from "../../strings";
import { visible } from "../../ui/visible";
import "./agent-mark.css";

const words = strings.sessions.agents;

export function AgentMark({ name }: { name: string }) {
  return (
    <span className="agent-mark" aria-hidden="true">
      {visible(name, true).slice(0, 1).toUpperCase()}
    </span>
  );
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
