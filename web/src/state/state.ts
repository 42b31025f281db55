// A session as it is shown. Pure data: reduce.ts makes it out of events, the views draw it.

import type { Block, Json, ModelUsage } from "../protocol/wire";

/** Something the user said. `status`: given to the CLI, or nobody knows whether it arrived. */
export interface Said {
  kind: "said";
  key: string;
  uuid: string;
  blocks: Block[];
  by: string;
  time: number;
  doubted: boolean;
}

/** Words of the model. `live`: still being written. */
export interface Words {
  kind: "text" | "thinking";
  key: string;
  text: string;
  live: boolean;
  /** Of thinking that is not shown: only that there was some. */
  redacted: boolean;
  /** The id of the CLI's line: where a fork can begin. */
  uuid: string;
  /** The output of a command of the CLI itself, `/cost` for example; or of an error of the API. */
  source: "model" | "local" | "error";
  time: number;
}

export type CallStatus = "typing" | "waiting" | "running" | "done" | "failed" | "denied" | "interrupted";

/** A tool call with what became of it, and in the case of a subagent all that it does. */
export interface Call {
  kind: "call";
  key: string;
  id: string;
  name: string;
  input: Json;
  /** The input as far as it is typed, while it is typed. */
  typed: string;
  status: CallStatus;
  /** What the model is given. */
  result: Block[];
  /** What the CLI tells the page besides: a patch, exit codes, cells. */
  detail: unknown;
  /** How an MCP server wants it called. */
  title: string;
  /** Seconds that it has run for, as the CLI told. */
  elapsed: number;
  began: number;
  ended: number;
  /** The background task that it started. */
  task: string;
  rows: Row[];
}

export type Tone = "quiet" | "info" | "warning" | "error";

/** A word of the page about what happened. `about`: which sentence of strings.ts; `facts`: what to fill in. */
export interface Notice {
  kind: "notice";
  key: string;
  about: string;
  tone: Tone;
  facts: Json;
  time: number;
}

export interface Denial {
  tool: string;
  input: Json;
}

/** Where a turn ended. */
export interface TurnEnd {
  kind: "end";
  key: string;
  /** "" where all went well; else the subtype or terminal reason. */
  problem: string;
  errors: string[];
  cost: number;
  total: number;
  duration: number;
  tokens: { input: number; output: number };
  denials: Denial[];
  time: number;
}

/** Something that this page does not know: shown as it came. */
export interface Unknown {
  kind: "unknown";
  key: string;
  what: string;
  data: Json;
  time: number;
}

export type Row = Said | Words | Call | Notice | TurnEnd | Unknown;

/** A message that waits for its turn. `handed`: the CLI has it already. */
export interface Queued {
  uuid: string;
  blocks: Block[];
  by: string;
  handed: boolean;
}

/** What a suggestion of a question would grant, in the engine's words. */
export interface Suggestion {
  index: number;
  words: string;
  destinations: string[];
  suggested: string;
}

/** Something that waits for a human. `request`: what the CLI asked. */
export interface Question {
  id: string;
  kind: "permission" | "questions" | "plan" | "elicitation";
  hash: string;
  request: Json;
  suggestions: Suggestion[];
  agent: string;
  time: number;
}

export interface Task {
  id: string;
  subject: string;
  description: string;
  active: string;
  status: "pending" | "in_progress" | "completed";
  owner: string;
  blockedBy: string[];
}

/** Work in the background. */
export interface Background {
  id: string;
  call: string;
  type: string;
  description: string;
  status: "running" | "completed" | "failed" | "stopped";
  summary: string;
  lastTool: string;
  tokens: number;
}

export interface Cost {
  /** Of the session so far, as the CLI tells it. */
  total: number;
  turn: number;
  duration: number;
  models: Record<string, ModelUsage>;
}

/** How full the window is. `total` 0: not known yet. */
export interface Context {
  used: number;
  total: number;
}

/** What runs now. `doing`: the name of the status sentence. */
interface Turn {
  running: boolean;
  began: number;
  doing: string;
  retry: Retry | null;
}

interface Retry {
  attempt: number;
  most: number;
  at: number;
  status: number;
  error: string;
}

export interface State {
  rows: Row[];
  /** The message that is being written, block by block; shown after the rows. */
  live: Row[];
  queue: Queued[];
  questions: Question[];
  tasks: Task[];
  background: Background[];
  turn: Turn;
  cost: Cost;
  context: Context;
  /** What the CLI said of itself at the last turn's beginning. */
  init: Json | null;
  model: string;
  mode: string;
  /** How the bridge says that the session stands. */
  state: string;
  error: string;
  /** The message of the main thread whose blocks come, and how many of them came: it names rows. */
  message: { id: string; count: number };
  /** Ids of the calls that have no result yet. */
  open: readonly string[];
  /** The CLI says itself which message it takes up, and when. */
  lifecycle: boolean;
  /** Something of this turn was too large to come with the rest: a result may be in it. */
  missed: boolean;
  /** The number of the first event that is known; above 1, something was before it. */
  first: number;
  /** The number of the last event on record. */
  last: number;
}

export const EMPTY: State = {
  rows: [],
  live: [],
  queue: [],
  questions: [],
  tasks: [],
  background: [],
  turn: { running: false, began: 0, doing: "", retry: null },
  cost: { total: 0, turn: 0, duration: 0, models: {} },
  context: { used: 0, total: 0 },
  init: null,
  model: "",
  mode: "",
  state: "",
  error: "",
  message: { id: "", count: 0 },
  open: [],
  lifecycle: false,
  missed: false,
  first: 0,
  last: 0,
};
