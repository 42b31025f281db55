// Texts of the settings and the status bar.

import { own } from "../protocol/wire";
import { whole } from "./figures";

interface Explained {
  name: string;
  what: string;
}

/** The permission modes with a description each. */
export const modes: Record<string, Explained> = {
  default: { name: "Ask", what: "Asks before changing files or running commands." },
  acceptEdits: { name: "Accept edits", what: "Edits files in this folder without asking, also with cp, mkdir, mv, rm, rmdir, tee and touch. Asks before other commands." },
  plan: { name: "Plan", what: "Reads and plans only. Nothing changes until you approve the plan." },
  auto: { name: "Auto", what: "A second model decides what may run." },
  dontAsk: { name: "Don’t ask", what: "Runs what your rules allow and denies everything else." },
  bypassPermissions: { name: "Bypass", what: "Runs everything without asking. Use only on a disposable machine." },
};
export const modeName = (mode: string): string => own(modes, mode === "manual" ? "default" : mode)?.name ?? mode;

export const efforts: Record<string, Explained> = {
  "": { name: "Default", what: "The model’s default." },
  low: { name: "Low", what: "Fast and cheap." },
  medium: { name: "Medium", what: "For most work." },
  high: { name: "High", what: "Thinks longer." },
  xhigh: { name: "Very high", what: "Thinks much longer." },
  max: { name: "Max", what: "Thinks as long as needed; most expensive." },
};

export const settings = {
  session: "This session",
  defaults: "New sessions",
  look: "This page",
  sessionMeaning: "Changes take effect at once, even during a turn.",
  defaultsMeaning: "Defaults for new sessions. Existing sessions are not changed.",
  changing: (what: string) => `Changing to ${what}…`,
  done: (what: string) => `Changed to ${what}`,
  failed: (what: string, why: string) => `Could not change to ${what}: ${why}`,
  other: "Other…",
  set: "Set",
  model: "Model",
  modelOther: "Model name",
  cliDefault: "CLI default",
  mode: "Permission mode",
  effort: "Effort",
  noEffort: "This model does not support effort levels.",
  thinking: "Thinking",
  thinkingOther: "Thinking tokens",
  thinkingChoices: { "": "Default", "0": "Off", "4000": "Low, 4,000 tokens", "10000": "Medium, 10,000 tokens", "32000": "High, 32,000 tokens" } as Record<string, string>,
  tokens: (count: number) => `${whole(count)} tokens`,
  style: "Output style",
  styleFixed: "Set when a session starts. Choose it for new sessions under “New sessions”.",
  styleDefault: "default",
  fast: "Fast mode",
  fastStates: { on: "On", off: "Off", cooldown: "Paused" } as Record<string, string>,
  fastMeaning: "Faster answers at a higher price. Choose a model that supports it.",
  fastNone: "No available model supports it.",
  fastSwitch: (model: string) => `Switch to ${model}`,
  fastUnknown: "Known after the first message",
  mcp: "MCP servers",
  mcpOpen: "Show servers",
  theme: "Theme",
  themes: { system: "System", light: "Light", dark: "Dark" },
  sideBySide: "Show diffs side by side",
  wrap: "Wrap long lines",
  keys: "Keyboard shortcuts",
  unavailable: "The defaults could not be loaded",
};

export const statusBar = {
  label: "Status",
  model: "Model",
  mode: "Permission mode",
  effort: (level: string) => `effort ${(efforts[level]?.name ?? level).toLowerCase()}`,
  thinking: (tokens: number) => (tokens ? `thinking ${whole(tokens)}` : "no thinking"),
  context: "Context",
  contextTip: "Context used. Click for the breakdown.",
  contextFull: "almost full",
  cost: "Cost",
  costTip: "Cost of this session and its last turn. Click for details.",
  lastTurn: (cost: string) => `+${cost}`,
  total: "Session",
  turn: "Last turn",
  durations: "Total turn time",
  byModel: "By model",
  columns: { model: "Model", input: "In", output: "Out", cache: "From cache", written: "Into cache", cost: "Cost" },
  estimate: "As reported by the CLI, at list prices. Subscriptions are billed differently.",
  tasks: "Tasks",
  tasksDone: (done: number, all: number) => `${done}/${all}`,
  background: (count: number) => `${count} in the background`,
  fast: "fast",
};
