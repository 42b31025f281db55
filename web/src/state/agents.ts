// The ACP agents that a session can be started with, and what each of them can do. The list is read once; an agent is asked when it is
// looked at, because the server has to start it for that.

import { useEffect } from "react";
import { create } from "zustand";

import { get } from "../protocol/api";
import type { SessionShown } from "../protocol/messages";
import { object, objects, text, texts, type Json } from "../protocol/wire";
import { may } from "./bridge";
import { onForget } from "./forget";

export interface Agent {
  name: string;
  /** Its own name for itself; the name if it was not asked. */
  title: string;
  version: string;
  /** Machines of the cluster that have it; empty for a server alone. */
  machines: string[];
  /** Whether it was asked what it can do. */
  asked: boolean;
  images: boolean;
  resume: boolean;
  fork: boolean;
  /** Why it could not be asked. */
  problem: string;
}

interface Known {
  agents: Agent[];
}

export const useAgentStore = create<Known>(() => ({ agents: [] }));
onForget(() => useAgentStore.setState({ agents: [] }));

/** The agent that was chosen for a session; "" for the CLI of the server. */
export const agentOf = (session: SessionShown | undefined): string => text(object(session)["agent"]);

/** Decode the server's answer. Agents without a name are skipped. Pure. */
export const agentsOf = (told: Json): Agent[] =>
  objects(told["agents"])
    .map((one) => ({
      name: text(one["name"]),
      title: text(one["title"]) || text(one["name"]),
      version: text(one["version"]),
      machines: texts(one["machines"]),
      asked: one["asked"] === true,
      images: one["images"] === true,
      resume: one["resume"] === true,
      fork: one["fork"] === true,
      problem: text(one["problem"]),
    }))
    .filter((one) => one.name);

const load = async (ask: string): Promise<void> => {
  const told = await get<Json>(ask ? `/api/agents?ask=${encodeURIComponent(ask)}` : "/api/agents").catch(() => null);
  if (told) useAgentStore.setState({ agents: agentsOf(told) });
};

/** The agents to choose from. */
export function useAgents(): Agent[] {
  useEffect(() => void (may("prompt") && load("")), []);
  return useAgentStore((known) => known.agents);
}

/** Ask an agent what it can do, unless that is known. */
export async function askAgent(name: string): Promise<void> {
  const known = useAgentStore.getState().agents.find((one) => one.name === name);
  if (known && !known.asked) await load(name);
}
