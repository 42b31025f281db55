// Words of the settings and of the status bar.

import { own } from "../protocol/wire";
import { whole } from "./figures";

interface Explained {
  name: string;
  what: string;
}

/** The permission modes, each with what it means. */
export const modes: Record<string, Explained> = {
  default: { name: "Ask", what: "Reads freely, asks before it changes files or runs commands." },
  acceptEdits: { name: "Accept edits", what: "Changes files of this folder without asking, still asks before other commands." },
  plan: { name: "Plan", what: "Only looks and makes a plan. Nothing is changed before you approve the plan." },
  auto: { name: "Auto", what: "A second model decides in your place what may run." },
  dontAsk: { name: "Do not ask", what: "Does what your rules allow, and refuses everything else without asking." },
  bypassPermissions: { name: "Bypass", what: "Runs everything without asking. Only for a machine that may be lost." },
};
export const modeName = (mode: string): string => own(modes, mode === "manual" ? "default" : mode)?.name ?? mode;

export const efforts: Record<string, Explained> = {
  "": { name: "As the model decides", what: "The model's own default." },
  low: { name: "Low", what: "Quick and cheap." },
  medium: { name: "Medium", what: "For most work." },
  high: { name: "High", what: "Thinks longer." },
  xhigh: { name: "Very high", what: "Thinks much longer." },
  max: { name: "Highest", what: "As long as it takes, at its price." },
};

export const settings = {
  session: "This session",
  defaults: "New sessions",
  look: "This page",
  sessionMeaning: "Changes hold at once, also in the middle of a turn.",
  defaultsMeaning: "What new sessions start with. Sessions that are there already stay as they are.",
  changing: (what: string) => `Changing to ${what}…`,
  done: (what: string) => `Changed to ${what}`,
  failed: (what: string, why: string) => `Could not change to ${what}: ${why}`,
  other: "Other…",
  set: "Set",
  model: "Model",
  modelOther: "Name of the model",
  cliDefault: "The CLI's default",
  mode: "Permission mode",
  effort: "Effort",
  noEffort: "This model has no effort levels.",
  thinking: "Thinking",
  thinkingOther: "Tokens for thinking",
  thinkingChoices: { "": "As the model decides", "0": "None", "4000": "Little, 4,000 tokens", "10000": "Some, 10,000 tokens", "32000": "Much, 32,000 tokens" } as Record<string, string>,
  tokens: (count: number) => `${whole(count)} tokens`,
  style: "Output style",
  styleFixed: "Chosen when a session starts. For your next one choose it under “New sessions”.",
  styleDefault: "default",
  fast: "Fast mode",
  fastStates: { on: "On", off: "Off", cooldown: "Paused for a while" } as Record<string, string>,
  fastMeaning: "Faster answers at a higher price. It comes with the model: choose one that has it.",
  fastNone: "None of the models here has it.",
  fastSwitch: (model: string) => `Switch to ${model}`,
  fastUnknown: "Known after the first message",
  mcp: "MCP servers",
  mcpOpen: "Show the servers",
  theme: "Colours",
  themes: { system: "As the system", light: "Light", dark: "Dark" },
  sideBySide: "Show differences side by side",
  wrap: "Wrap long lines of code",
  keys: "All keys",
  unavailable: "The defaults cannot be read",
};

export const statusBar = {
  label: "Status",
  model: "Model",
  mode: "Permission mode",
  effort: (level: string) => `effort ${(efforts[level]?.name ?? level).toLowerCase()}`,
  thinking: (tokens: number) => (tokens ? `thinking ${whole(tokens)}` : "no thinking"),
  context: "Context",
  contextTip: "How full the model's context is. Click for what fills it.",
  contextFull: "nearly full",
  cost: "Cost",
  costTip: "What this session has cost, and its last turn. Click for details.",
  lastTurn: (cost: string) => `+${cost}`,
  total: "Session",
  turn: "Last turn",
  durations: "Time the turns took",
  byModel: "By model",
  columns: { model: "Model", input: "In", output: "Out", cache: "From cache", written: "Into cache", cost: "Cost" },
  estimate: "As the CLI tells it, at list prices; with a subscription it is not billed like this.",
  tasks: "Tasks",
  tasksDone: (done: number, all: number) => `${done}/${all}`,
  background: (count: number) => `${count} in the background`,
  fast: "fast",
};
