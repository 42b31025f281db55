// Made by `make types-ts` from the tables of the bridge. Do not edit.

/** What a folder's own files would run, by the digest that was shown. */
export interface AcceptTrust {
  session: string;
  digest: string;
}

/** An answer to a question, with the hash of what was shown. */
export interface AnswerFields {
  behavior: "allow" | "deny";
  input?: Record<string, unknown> | null;
  updates?: Chosen[];
  remember?: boolean;
  reason?: string;
  interrupt?: boolean;
  answers?: Record<string, string | string[]> | null;
  notes?: Record<string, string>;
  mode?: "acceptEdits" | "default" | null;
  content?: Record<string, unknown> | null;
  session: string;
  question: string;
  hash: string;
}

/** Away from the list, or back. */
export interface Archive {
  session: string;
  archived?: boolean;
}

/** One of the updates that the question suggests, by its place, for a scope of the user's choice. */
export interface Chosen {
  index: number;
  destination?: "localSettings" | "projectSettings" | "session" | "userSettings";
}

/** Do something, once: the same id gives the same receipt. The table of commands says which fields there are. */
export interface ClientCommand {
  type: "command";
  id: string;
  command: string;
  fields?: Record<string, unknown>;
}

/** Must come first. */
export interface ClientHello {
  type: "hello";
  protocol: 1;
}

/** Asks for a heartbeat. */
export interface ClientPing {
  type: "ping";
}

/** Follow a session. `after`: the number of the last event that it has. `tail`: at most so many, the newest. */
export interface ClientSubscribe {
  type: "subscribe";
  session: string;
  after?: number;
  tail?: number;
}

/** Follow it no more. */
export interface ClientUnsubscribe {
  type: "unsubscribe";
  session: string;
}

/** Whether somebody looks at the client. Until it says so, nobody does. */
export interface ClientVisible {
  type: "visible";
  visible: boolean;
}

/** Follow the list of sessions. */
export interface ClientWatch {
  type: "watch";
}

/** The session of a folder that was used last. */
export interface Continue {
  cwd: string;
}

/** Something that happened. On record with a seq; live without. A very large one has `bytes` in place of data. */
export interface Event {
  kind: "answered" | "asked" | "changed" | "closed" | "crashed" | "doubted" | "ended" | "frame" | "handed" | "lapsed" | "live" | "said" | "silent" | "started" | "state" | "withdrawn";
  seq?: number;
  time?: number;
  data?: Record<string, unknown>;
  bytes?: number;
}

/** The beginning of a name, or a part of one. */
export interface FileSuggestions {
  session: string;
  query?: string;
}

/** Another session with the same past, all of it or up to a message. */
export interface Fork {
  session: string;
  at?: string | null;
  prompt?: string;
}

/** The turn that runs; with `queued` also what waits. */
export interface Interrupt {
  session: string;
  queued?: boolean;
}

/** Servers by name, in the CLI's format. */
export interface McpSet {
  session: string;
  servers: Record<string, Record<string, unknown>>;
}

/** Off, or on. */
export interface McpToggle {
  session: string;
  server: string;
  enabled: boolean;
}

/** A message that waits. */
export interface OfMessage {
  session: string;
  uuid: string;
}

/** An MCP server of the session. */
export interface OfServer {
  session: string;
  server: string;
}

/** A session. */
export interface OfSession {
  session: string;
}

/** A task in the background. */
export interface OfTask {
  session: string;
  task: string;
}

/** Nothing. */
export type PushKey = Record<string, never>;

/** A subscription as the browser gives it: where to send, its key and its secret. */
export interface PushSubscribe {
  endpoint: string;
  p256dh: string;
  auth: string;
}

/** Where it was sent. */
export interface PushUnsubscribe {
  endpoint: string;
}

/** Why a command was not done; `code` is for programs, `message` for people. */
export interface Refusal {
  code: string;
  message: string;
}

/** A title. */
export interface Rename {
  session: string;
  title: string;
}

/** A session of ours, or one that a CLI has on this machine. */
export interface Resume {
  session: string;
}

/** Files back to what they were before a message. First dry: it tells what would change, and the hash of that. */
export interface Rewind {
  session: string;
  message: string;
  dry_run?: boolean;
  hash?: string;
}

/** Something the user says. `images`: ids of uploads; `files`: paths below the session's folder. `priority`: "now" goes before all that waits, "later" after it. What a turn that runs makes of it is the CLI's: the real one ends the turn for "now", and begins with this message. */
export interface Send {
  session: string;
  text?: string;
  images?: string[];
  files?: string[];
  uuid?: string | null;
  priority?: "later" | "next" | "now" | null;
}

/** The client was not understood. Where it does not keep to the protocol, the socket is closed afterwards. */
export interface ServerError {
  type: "error";
  code: string;
  message: string;
  session?: string;
}

/** Events of a session, in order. */
export interface ServerEvents {
  type: "events";
  session: string;
  events: Event[];
}

/** Twice a minute, and when asked. */
export interface ServerHeartbeat {
  type: "heartbeat";
  time: number;
}

/** Who the server is, and what this device may do. `machine`: its name among others, "" where it is alone. */
export interface ServerHello {
  type: "hello";
  protocol: 1;
  version: string;
  device: string;
  scopes: string[];
  commands: string[];
  machine: string;
}

/** How a command went. */
export interface ServerReceipt {
  type: "receipt";
  id: string;
  ok: boolean;
  result?: Record<string, unknown>;
  error?: Refusal;
}

/** Subscribe again with the last seq; without a session: watch again. */
export interface ServerResync {
  type: "resync";
  session: string;
  reason: string;
}

/** What changed in the list. */
export interface ServerSessions {
  type: "sessions";
  items: SessionItem[];
}

/** What follows: the rest from where the client was, or everything anew, and why. */
export interface ServerSubscribed {
  type: "subscribed";
  session: string;
  verdict: "replayed" | "snapshot";
  reason: string;
  first: number;
  last: number;
  record: SessionShown;
}

/** A session that changed, or the id of one that was deleted. */
export interface SessionItem {
  session?: SessionShown;
  deleted?: string;
}

/** A session as clients are shown it. `forked_from`: the id of the session, `forked_at`: that of the message. `runner`: the machine that runs it, or ran it last; "" where there is only one. */
export interface SessionShown {
  id: string;
  cwd: string;
  created: number;
  changed: number;
  conversation: string;
  title: string;
  state: "compacting" | "failed" | "hibernated" | "idle" | "interrupted" | "running" | "starting" | "waiting_approval";
  model: string;
  mode: string;
  archived: boolean;
  trusted: boolean;
  cost: number;
  questions: number;
  error: string;
  lapsed: Record<string, unknown>[];
  forked_from: string;
  forked_at: string;
  runner: string;
}

/** None is the default of the model. */
export interface SetEffort {
  session: string;
  effort?: "high" | "low" | "max" | "medium" | "xhigh" | null;
}

/** A permission mode. */
export interface SetMode {
  session: string;
  mode: "acceptEdits" | "auto" | "bypassPermissions" | "default" | "dontAsk" | "manual" | "plan";
}

/** None is the default. */
export interface SetModel {
  session: string;
  model?: string | null;
}

/** Tokens for thinking; None is the default. */
export interface SetThinking {
  session: string;
  tokens?: number | null;
}

/** Where the browser was led after the person had signed in. */
export interface SignedIn {
  session: string;
  server: string;
  url: string;
}

/** A new session in a folder; with `prompt` it begins at once. Where there are many machines: `runner` is one by its name, `labels` are words that it must have. */
export interface Start {
  model?: string | null;
  mode?: "acceptEdits" | "auto" | "bypassPermissions" | "default" | "dontAsk" | "manual" | "plan";
  effort?: "high" | "low" | "max" | "medium" | "xhigh" | null;
  thinking_tokens?: number | null;
  output_style?: string | null;
  add_dirs?: string[];
  plugin_dirs?: string[];
  max_turns?: number | null;
  max_budget_usd?: number | null;
  cwd: string;
  runner?: string;
  labels?: string[];
  title?: string;
  prompt?: string;
}

export type ClientMessage = ClientHello | ClientSubscribe | ClientUnsubscribe | ClientWatch | ClientCommand | ClientVisible | ClientPing;

export type ServerMessage = ServerHello | ServerSubscribed | ServerEvents | ServerSessions | ServerReceipt | ServerResync | ServerHeartbeat | ServerError;

/** Every command, with the scope that it needs and its fields. */
export interface Commands {
  about: { scope: "prompt"; fields: OfSession };
  accept_trust: { scope: "admin"; fields: AcceptTrust };
  answer: { scope: "approve"; fields: AnswerFields };
  archive: { scope: "prompt"; fields: Archive };
  cancel_queued: { scope: "prompt"; fields: OfMessage };
  context_usage: { scope: "prompt"; fields: OfSession };
  continue: { scope: "prompt"; fields: Continue };
  delete: { scope: "admin"; fields: OfSession };
  file_suggestions: { scope: "prompt"; fields: FileSuggestions };
  fork: { scope: "prompt"; fields: Fork };
  grant_again: { scope: "approve"; fields: OfSession };
  interrupt: { scope: "prompt"; fields: Interrupt };
  mcp_reconnect: { scope: "prompt"; fields: OfServer };
  mcp_set: { scope: "admin"; fields: McpSet };
  mcp_sign_in: { scope: "admin"; fields: OfServer };
  mcp_sign_in_finish: { scope: "admin"; fields: SignedIn };
  mcp_status: { scope: "prompt"; fields: OfSession };
  mcp_toggle: { scope: "prompt"; fields: McpToggle };
  push_key: { scope: "view"; fields: PushKey };
  push_subscribe: { scope: "view"; fields: PushSubscribe };
  push_unsubscribe: { scope: "view"; fields: PushUnsubscribe };
  rename: { scope: "prompt"; fields: Rename };
  resume: { scope: "prompt"; fields: Resume };
  rewind: { scope: "approve"; fields: Rewind };
  send: { scope: "prompt"; fields: Send };
  set_effort: { scope: "prompt"; fields: SetEffort };
  set_model: { scope: "prompt"; fields: SetModel };
  set_permission_mode: { scope: "approve"; fields: SetMode };
  set_thinking: { scope: "prompt"; fields: SetThinking };
  start: { scope: "prompt"; fields: Start };
  stop: { scope: "prompt"; fields: OfSession };
  stop_task: { scope: "prompt"; fields: OfTask };
}
