// The agent of a new session: the CLI of the server, or one of the ACP agents.

import { useEffect } from "react";

import { askAgent, useAgents, type Agent } from "../../state/agents";
import { useBridge } from "../../state/bridge";
import { strings } from "../../strings";
import { Menu } from "../../ui/menu";
import { visible } from "../../ui/visible";
import { AgentMark } from "./agent-mark";

const words = strings.sessions.agents;

interface Props {
  /** "" for the CLI of the server. */
  agent: string;
  choose(agent: string): void;
}

/** What an agent can do, or why that is not known. */
export const abilities = ({ asked, images, resume, fork, problem }: Agent): string => {
  if (problem) return words.problem(visible(problem, true));
  if (!asked) return words.asking;
  const can = [images && words.images, resume && words.resume, fork && words.fork].filter(Boolean).join(", ");
  return resume ? words.can(can) : words.cannotResume(can);
};

const whereText = ({ machines }: Agent): string => (machines.length > 0 ? words.on(machines.map((one) => visible(one, true)).join(", ")) : "");

function useOwn(): string {
  return useBridge(({ cli }) => (cli ? cli.name : words.own));
}

/** A menu; nothing where there are no agents. */
export function AgentMenu({ agent, choose }: Props) {
  const agents = useAgents();
  const own = useOwn();
  if (agents.length === 0) return null;
  const chosen = agents.find((one) => one.name === agent);
  const items = [
    { id: "\u0000own", label: own, help: words.ownHelp, chosen: agent === "", pick: () => choose("") },
    ...agents.map((one) => ({
      id: one.name,
      label: visible(one.title, true),
      help: [one.asked || one.problem ? abilities(one) : "", whereText(one)].filter(Boolean).join(" · "),
      chosen: one.name === agent,
      pick: () => (choose(one.name), void askAgent(one.name)),
    })),
  ];
  const shown = chosen ? visible(chosen.title, true) : own;
  return (
    <Menu
      label={words.menu(shown)}
      title={chosen ? `${shown}: ${abilities(chosen)}` : words.menu(shown)}
      button={
        <>
          {chosen && <AgentMark name={chosen.name} />}
          <span className="one-line">{shown}</span>
        </>
      }
      items={items}
    />
  );
}

/** A field of the dialog, with what the chosen agent can do; nothing where there are no agents. */
export function AgentField({ agent, choose }: Props) {
  const agents = useAgents();
  const own = useOwn();
  useEffect(() => {
    if (agent) void askAgent(agent);
  }, [agent]);
  if (agents.length === 0) return null;
  const chosen = agents.find((one) => one.name === agent);
  return (
    <label className="field">
      <span>{words.label}</span>
      <select value={agent} onChange={(event) => choose(event.target.value)}>
        <option value="">{own}</option>
        {agents.map((one) => (
          <option key={one.name} value={one.name}>
            {[visible(one.title, true), whereText(one)].filter(Boolean).join(" · ")}
          </option>
        ))}
      </select>
      <small className="soft" aria-live="polite">
        {chosen ? abilities(chosen) : words.ownHelp}
      </small>
    </label>
  );
}
