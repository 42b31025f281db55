// What a session's CLI says of itself: commands, agents, models, hooks, MCP servers. In: a session. Out: what is known, and hooks for the
// views. Asked once when a process starts and when a panel opens; until the answer comes, what the CLI told at its last turn counts.

import { useEffect } from "react";
import { create } from "zustand";

import { object, objects, text, texts, type Json } from "../protocol/wire";
import { socket, useBridge } from "./bridge";
import type { Followed } from "./followed";
import { onForget } from "./forget";

export interface CommandTold {
  name: string;
  description: string;
  argumentHint: string;
}

interface AgentTold {
  name: string;
  description: string;
  model: string;
}

export interface ModelTold {
  value: string;
  resolved: string;
  name: string;
  description: string;
  efforts: string[];
  fast: boolean;
}

interface HookTold {
  event: string;
  matcher: string;
  type: string;
  command: string;
  source: string;
}

export interface Named {
  name: string;
  detail: string;
}

export interface About {
  /** Whether the session has a process now. */
  running: boolean;
  /** Whether this was answered, or only read from the last turn. */
  asked: boolean;
  commands: CommandTold[];
  agents: AgentTold[];
  models: ModelTold[];
  hooks: HookTold[];
  tools: string[];
  skills: string[];
  plugins: Named[];
  outputStyle: string;
  outputStyles: string[];
  account: Record<string, string>;
  version: string;
  /** Which CLI it is. */
  cli: string;
  effort: string;
  /** null: as the model decides. */
  thinkingTokens: number | null;
  branch: string;
  /** "off", "on" or a reason; "" where nothing was said. */
  fastMode: string;
}

export interface McpServer {
  name: string;
  status: string;
  error: string;
  tools: { name: string; description: string }[];
  transport: string;
  scope: string;
  authUrl: string;
}

interface Known {
  about: Record<string, Json>;
  mcp: Record<string, McpServer[]>;
}

export const useKnown = create<Known>(() => ({ about: {}, mcp: {} }));

onForget(() => {
  asked.clear();
  useKnown.setState({ about: {}, mcp: {} });
});

/** What the CLI answered, over what it told at the beginning of its last turn. Pure. */
export function aboutOf(told: Json | undefined, init: Json | null): About {
  const from = told ?? {};
  const said = init ?? {};
  const commands = commandsOf(from["commands"]);
  const agents = agentsOf(from["agents"]);
  return {
    running: from["running"] === true,
    asked: told !== undefined,
    commands: commands.length ? commands : commandsOf(said["slash_commands"]),
    agents: agents.length ? agents : agentsOf(said["agents"]),
    models: objects(from["models"]).map(modelOf).filter((one) => one.value),
    hooks: objects(from["hooks"]).map(hookOf),
    tools: texts(said["tools"]),
    skills: texts(said["skills"]),
    plugins: objects(said["plugins"]).map((one) => ({ name: text(one["name"]), detail: text(one["path"]) || text(one["source"]) })),
    outputStyle: text(from["output_style"]) || text(said["output_style"]),
    outputStyles: texts(from["output_styles"]),
    account: Object.fromEntries(Object.entries(object(from["account"])).filter((pair): pair is [string, string] => typeof pair[1] === "string")),
    version: text(from["version"]) || text(said["claude_code_version"]),
    cli: text(from["cli"]),
    effort: text(from["effort"]),
    thinkingTokens: typeof from["thinking_tokens"] === "number" ? from["thinking_tokens"] : null,
    branch: text(from["branch"]),
    fastMode: text(said["fast_mode_state"]) || text(from["fast_mode_state"]),
  };
}

/** Commands and agents are told by name alone at a turn's beginning, and as objects when asked for. */
const named = (value: unknown): Json[] => [...objects(value), ...texts(value).map((name) => ({ name }))].filter((one) => text(one["name"]));
const commandsOf = (value: unknown): CommandTold[] =>
  named(value).map((one) => ({ name: text(one["name"]).replace(/^\//, ""), description: text(one["description"]), argumentHint: text(one["argumentHint"]) }));
const agentsOf = (value: unknown): AgentTold[] => named(value).map((one) => ({ name: text(one["name"]), description: text(one["description"]), model: text(one["model"]) }));

function modelOf(one: Json): ModelTold {
  const value = text(one["value"]);
  const resolved = text(one["resolvedModel"]) || value;
  return { value, resolved, name: text(one["displayName"]) || value, description: text(one["description"]), efforts: texts(one["supportedEffortLevels"]), fast: one["supportsFastMode"] === true };
}

const hookOf = (one: Json): HookTold => ({
  event: text(one["event"]),
  matcher: text(one["matcher"]),
  type: text(one["type"]),
  command: text(one["command"]),
  source: text(one["source"]),
});

/** One MCP server, as the bridge or as the CLI's last turn tells it. */
export function serverOf(one: Json): McpServer {
  const tools = objects(one["tools"]).map((tool) => ({ name: text(tool["name"]), description: text(tool["description"]) }));
  return {
    name: text(one["name"]),
    status: text(one["status"]),
    error: text(one["error"]),
    tools,
    transport: text(one["transport"]),
    scope: text(one["scope"]) || text(one["source"]),
    authUrl: text(one["auth_url"]),
  };
}

/** Where its machine has gone there is nobody to ask, and looking at it must not be what takes it up elsewhere. */
const isGone = (session: string): boolean => useBridge.getState().sessions.get(session)?.state === "interrupted";

/** Ask what the CLI is. Where that is refused, what was known stays. */
export async function askAbout(session: string): Promise<void> {
  if (isGone(session)) return;
  try {
    const told = await socket.command("about", { session });
    useKnown.setState(({ about }) => ({ about: { ...about, [session]: told } }));
  } catch {
    // A device that may only look is not told: the last turn's words stand in.
  }
}

/** Ask how the MCP servers are. */
export async function askMcp(session: string): Promise<void> {
  if (isGone(session)) return;
  try {
    const told = await socket.command("mcp_status", { session });
    if (told["running"] === false) return; // without a process nobody knows more than the last turn told
    useKnown.setState(({ mcp }) => ({ mcp: { ...mcp, [session]: objects(told["servers"]).map(serverOf) } }));
  } catch {
    // As above.
  }
}

const ASLEEP = ["", "hibernated", "starting", "failed", "interrupted"];

/** Whether a session has a process that could answer. It changes when a process starts and when it ends. */
export function useAwake(session: string): boolean {
  return useBridge((known) => !ASLEEP.includes(known.sessions.get(session)?.state ?? ""));
}

/** The model and the permission mode that hold; before the first turn those that the session was started with. */
export function useModel(followed: Followed): string {
  const told = followed.use((shown) => shown.state.model);
  const recorded = useBridge((known) => known.sessions.get(followed.id)?.model ?? "");
  return told || recorded;
}

export function useMode(followed: Followed): string {
  const told = followed.use((shown) => shown.state.mode);
  const recorded = useBridge((known) => known.sessions.get(followed.id)?.mode ?? "");
  const mode = told || recorded || "default";
  return mode === "manual" ? "default" : mode;
}

const latest = new WeakMap<Json, { init: Json | null; about: About }>();

function remembered(told: Json | undefined, init: Json | null): About {
  const key = told ?? init ?? NOTHING;
  const known = latest.get(key);
  if (known && known.init === init) return known.about;
  const about = aboutOf(told, init);
  latest.set(key, { init, about });
  return about;
}
const NOTHING: Json = {};
/** Which process was asked already: by session, whether it was awake then. */
const asked = new Map<string, boolean>();

/** What is known of a session's CLI. `fresh`: ask again when this is first drawn, as a panel does. */
export function useAbout(followed: Followed, fresh = false): About {
  const init = followed.use((shown) => shown.state.init);
  const told = useKnown((known) => known.about[followed.id]);
  const awake = useAwake(followed.id);
  useEffect(() => {
    if (!fresh && asked.get(followed.id) === awake) return;
    asked.set(followed.id, awake);
    void askAbout(followed.id);
  }, [followed, awake, fresh]);
  return remembered(told, init);
}

/** The MCP servers of a session, asked anew when this is first drawn, when a process starts and when a turn begins. */
export function useMcp(followed: Followed): McpServer[] {
  const init = followed.use((shown) => shown.state.init);
  const told = useKnown((known) => known.mcp[followed.id]);
  const awake = useAwake(followed.id);
  useEffect(() => void askMcp(followed.id), [followed, awake, init]);
  return told ?? objects(init?.["mcp_servers"]).map(serverOf);
}
