// The state of a session as the views draw it. Plain data; reduce.ts builds it from events.

import type { Block, Json, ModelUsage } from "../protocol/wire";

/** A message of the user. `doubted`: the process ended before it confirmed the message. */
export interface Said {
  kind: "said";
  key: string;
  uuid: string;
  blocks: Block[];
  by: string;
  time: number;
  doubted: boolean;
}

/** Text or thinking of the model. `live`: still streaming. */
export interface Words {
  kind: "text" | "thinking";
  key: string;
  text: string;
  live: boolean;
  /** Thinking whose content the API withholds. */
  redacted: boolean;
  /** The uuid of the CLI's frame; a fork can start here. */
  uuid: string;
  /** `local`: output of a command the CLI runs itself, such as `/cost`. `error`: an API error. */
  source: "model" | "local" | "error";
  time: number;
}

/** `declined`: the user skipped a question, or wants another plan. */
export type CallStatus = "typing" | "waiting" | "running" | "done" | "failed" | "denied" | "declined" | "interrupted";

/** One message stream: the main conversation, or a subagent inside its call. */
export interface Thread {
  /** The blocks still streaming; drawn after the rows. */
  live: Row[];
  /** The message whose blocks are arriving, and how many have arrived. Row keys are made from both. */
  message: { id: string; count: number };
}

/** A tool call and its result. The call of a subagent also holds everything the subagent does. */
export interface Call extends Thread {
  kind: "call";
  key: string;
  id: string;
  name: string;
  /** What ran: the input of the model, or what the user made of it. */
  input: Json;
  /** The user changed the input before allowing it. */
  edited: boolean;
  /** The partial JSON of the input while it streams. */
  typed: string;
  status: CallStatus;
  /** The result as the model receives it. */
  result: Block[];
  /** The structured result (`tool_use_result`): a patch, exit codes, cells. */
  detail: unknown;
  /** Display name given by an MCP server. */
  title: string;
  /** The newest output of a running command. */
  printed: string;
  /** Seconds it has been running, as reported by the CLI. */
  elapsed: number;
  began: number;
  /** When it started to run: not before it was allowed. */
  started: number;
  ended: number;
  /** Milliseconds between start and end in which its subagent waited for the user. */
  waited: number;
  /** Id of the background task it started. */
  task: string;
  rows: Row[];
}

export type Tone = "quiet" | "info" | "warning" | "error";

/** A line about something that happened. `about` names the sentence in strings/notices.ts; `facts` fills it in. */
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

/** The end of a turn. */
export interface TurnEnd {
  kind: "end";
  key: string;
  /** The terminal reason or subtype of a failed turn; "" if it succeeded. */
  problem: string;
  errors: string[];
  cost: number;
  total: number;
  duration: number;
  tokens: { input: number; output: number };
  denials: Denial[];
  time: number;
}

/** A frame or block of an unknown type; drawn as raw JSON. */
export interface Unknown {
  kind: "unknown";
  key: string;
  what: string;
  data: Json;
  time: number;
}

export type Row = Said | Words | Call | Notice | TurnEnd | Unknown;

/** A message waiting for its turn. `handed`: already written to the CLI. `held`: waiting for the user, who stopped a turn. */
export interface Queued {
  uuid: string;
  blocks: Block[];
  by: string;
  handed: boolean;
  held: boolean;
}

/** A permission update the question offers, described by the permission engine. */
export interface Suggestion {
  index: number;
  words: string;
  destinations: string[];
  suggested: string;
}

/** A risk of a call, named by the permission engine, and what it would touch. */
export interface Risk {
  kind: string;
  subjects: string[];
}

/** Where the text of an edit is in its file: its line, the rest of its lines, and the lines around it. */
export interface Place {
  line: number;
  prefix: string;
  suffix: string;
  before: string[];
  after: string[];
  matches: number;
}

/** What the server found out about a call for the person who decides. */
export interface Help {
  risks: Risk[];
  /** Per edit; null where its text was not found. */
  places: (Place | null)[];
  /** What a Write replaces: "" for a new file; null where it is not known. */
  current: string | null;
}

export const NO_HELP: Help = { risks: [], places: [], current: null };

/** A pending question. `request`: the request of the CLI. */
export interface Question {
  id: string;
  kind: "permission" | "questions" | "plan" | "elicitation";
  hash: string;
  request: Json;
  suggestions: Suggestion[];
  agent: string;
  help: Help;
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

/** A background task. */
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
  /** Of the whole session, as reported by the CLI. */
  total: number;
  turn: number;
  duration: number;
  models: Record<string, ModelUsage>;
}

export interface ContextCategory {
  name: string;
  tokens: number;
}

/** Tokens in the context window. `total` is 0 until known. */
export interface Context {
  used: number;
  total: number;
  /** The breakdown printed by the last `/context`; empty by default. */
  categories: ContextCategory[];
}

/** The running turn. `doing` names the status sentence. */
interface Turn {
  running: boolean;
  /** The CLI reported that the user interrupted it. */
  stopped: boolean;
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

export interface State extends Thread {
  rows: Row[];
  queue: Queued[];
  questions: Question[];
  tasks: Task[];
  background: Background[];
  turn: Turn;
  cost: Cost;
  context: Context;
  /** The `init` frame of the last turn. */
  init: Json | null;
  /** Sequence number of the last `commands_changed` frame: the slash commands have to be requested again. */
  commandsChanged: number;
  model: string;
  mode: string;
  /** The session's state as reported by the server. */
  state: string;
  error: string;
  /** The question whose turn was cut off by a restart and can be run again; "" otherwise. */
  retry: string;
  /** Ids of calls without a result. */
  open: readonly string[];
  /** The CLI reports which message it starts, and when (`command_lifecycle`). */
  lifecycle: boolean;
  /** An event of this turn was too large to be delivered inline; it may contain a result. */
  missed: boolean;
  /** Sequence number of the first known event; above 1, older events exist. */
  first: number;
  /** Sequence number of the last persisted event. */
  last: number;
}

export const EMPTY: State = {
  rows: [],
  live: [],
  queue: [],
  questions: [],
  tasks: [],
  background: [],
  turn: { running: false, stopped: false, began: 0, doing: "", retry: null },
  cost: { total: 0, turn: 0, duration: 0, models: {} },
  context: { used: 0, total: 0, categories: [] },
  init: null,
  commandsChanged: 0,
  model: "",
  mode: "",
  state: "",
  error: "",
  retry: "",
  message: { id: "", count: 0 },
  open: [],
  lifecycle: false,
  missed: false,
  first: 0,
  last: 0,
};
