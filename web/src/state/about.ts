// Information about a session's CLI: commands, agents, models, hooks, MCP servers. Requested when a process starts, when its commands change and when a panel opens;
// until the answer arrives, the `init` frame of the last turn is used.

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
  /** The session has a process. */
  running: boolean;
  /** From an answer of the CLI, not only from the last turn. */
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
  /** The kind of CLI: "agent" is the embedded one. */
  cli: string;
  effort: string;
  /** null: the default of the model. */
  thinkingTokens: number | null;
  branch: string;
  /** "off", "on" or a reason; "" if unknown. */
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
  /** The user can sign in to it from here. */
  signIn: boolean;
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

/** Combines the CLI's answer with the `init` frame of its last turn. Pure. */
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

/** The `init` frame has only names of commands and agents; the answer has objects. */
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

/** An MCP server from `mcp_status` or from the `init` frame. */
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
    signIn: typeof one["sign_in"] === "boolean" ? one["sign_in"] : text(one["status"]) === "needs-auth",
  };
}

/** A session whose machine is lost is not asked: the request would start it on another machine. */
const isGone = (session: string): boolean => useBridge.getState().sessions.get(session)?.state === "interrupted";

/** Request information about the CLI. A refusal leaves the known information in place. */
export async function askAbout(session: string): Promise<void> {
  if (isGone(session)) return;
  try {
    const told = await socket.command("about", { session });
    useKnown.setState(({ about }) => ({ about: { ...about, [session]: told } }));
  } catch {
    // Devices with only the view scope are refused; the last turn's information is used.
  }
}

/** Request the status of the MCP servers. */
export async function askMcp(session: string): Promise<void> {
  if (isGone(session)) return;
  try {
    const told = await socket.command("mcp_status", { session });
    if (told["running"] === false) return; // without a process the last turn's status is the newest
    useKnown.setState(({ mcp }) => ({ mcp: { ...mcp, [session]: objects(told["servers"]).map(serverOf) } }));
  } catch {
    // As above.
  }
}

const ASLEEP = ["", "hibernated", "starting", "failed", "interrupted"];

/** Whether a session has a process that can answer. */
export function useAwake(session: string): boolean {
  return useBridge((known) => !ASLEEP.includes(known.sessions.get(session)?.state ?? ""));
}

/** The current model and permission mode; before the first turn, those the session was started with. */
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
/** By session: whether it had a process when it was last asked, and the last change of its commands. */
const asked = new Map<string, string>();

/** Information about a session's CLI. `fresh`: request it again on mount, as panels do. */
export function useAbout(followed: Followed, fresh = false): About {
  const init = followed.use((shown) => shown.state.init);
  const told = useKnown((known) => known.about[followed.id]);
  const changed = followed.use((shown) => shown.state.commandsChanged);
  const awake = useAwake(followed.id);
  useEffect(() => {
    const now = `${awake} ${changed}`;
    if (!fresh && asked.get(followed.id) === now) return;
    asked.set(followed.id, now);
    void askAbout(followed.id);
  }, [followed, awake, changed, fresh]);
  return remembered(told, init);
}

/** The MCP servers of a session, requested on mount, when a process starts and when a turn starts. */
export function useMcp(followed: Followed): McpServer[] {
  const init = followed.use((shown) => shown.state.init);
  const told = useKnown((known) => known.mcp[followed.id]);
  const awake = useAwake(followed.id);
  useEffect(() => void askMcp(followed.id), [followed, awake, init]);
  return told ?? objects(init?.["mcp_servers"]).map(serverOf);
}
