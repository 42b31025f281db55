// Made by `make types-ts` from the tables of the bridge. Do not edit.

/** The digest of the folder's files, as they were shown. */
export interface AcceptTrust {
  session: string;
  digest: string;
}

/** The answer to a question, with the hash of what the client showed. */
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

/** Hide a session from the list, or show it again. */
export interface Archive {
  session: string;
  archived?: boolean;
}

/** A suggested permission update, by its index in the question, and where it is stored. */
export interface Chosen {
  index: number;
  destination?: "localSettings" | "projectSettings" | "session" | "userSettings";
}

/** Do a command once: the same id gives the same receipt. The fields depend on the command. */
export interface ClientCommand {
  type: "command";
  id: string;
  command: string;
  fields?: Record<string, unknown>;
}

/** The first message. */
export interface ClientHello {
  type: "hello";
  protocol: 1;
}

/** Request a heartbeat. */
export interface ClientPing {
  type: "ping";
}

/** Follow a session. `after`: the seq of the newest known event. `tail`: at most this many of the newest. */
export interface ClientSubscribe {
  type: "subscribe";
  session: string;
  after?: number;
  tail?: number;
}

/** Stop following a session. */
export interface ClientUnsubscribe {
  type: "unsubscribe";
  session: string;
}

/** Whether someone is looking at the client; false until it says otherwise. */
export interface ClientVisible {
  type: "visible";
  visible: boolean;
}

/** Follow the list of sessions. */
export interface ClientWatch {
  type: "watch";
}

/** The session most recently used in a folder. */
export interface Continue {
  cwd: string;
}

/** `transcript`: also delete the transcript of the real CLI, so the session disappears from the terminal too. */
export interface Delete {
  session: string;
  transcript?: boolean;
}

/** An event: durable with a seq, live without. A very large one has `bytes` in place of `data`. */
export interface Event {
  kind: "answered" | "asked" | "changed" | "closed" | "crashed" | "doubted" | "ended" | "frame" | "handed" | "held" | "lapsed" | "live" | "rewound" | "said" | "silent" | "started" | "state" | "withdrawn";
  seq?: number;
  time?: number;
  data?: Record<string, unknown>;
  bytes?: number;
}

/** `query`: a part of a file name. */
export interface FileSuggestions {
  session: string;
  query?: string;
}

/** A new session with the history of another, whole or up to the message `at`. */
export interface Fork {
  session: string;
  at?: string | null;
  prompt?: string;
}

/** `queued`: also cancel the queued messages. `hold`: hold them until `send_held` or `cancel_queued`. */
export interface Interrupt {
  session: string;
  queued?: boolean;
  hold?: boolean;
}

/** Server configurations by name, in the CLI's format. */
export interface McpSet {
  session: string;
  servers: Record<string, Record<string, unknown>>;
}

/** Disable a server, or enable it. */
export interface McpToggle {
  session: string;
  server: string;
  enabled: boolean;
}

/** A queued message. */
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

/** A background task. */
export interface OfTask {
  session: string;
  task: string;
}

/** No fields. */
export type PushKey = Record<string, never>;

/** A subscription as the browser's Push API returns it. */
export interface PushSubscribe {
  endpoint: string;
  p256dh: string;
  auth: string;
}

/** The endpoint of the subscription. */
export interface PushUnsubscribe {
  endpoint: string;
}

/** Why a command was refused; `code` is for programs, `message` for people. */
export interface Refusal {
  code: string;
  message: string;
}

/** A new title. */
export interface Rename {
  session: string;
  title: string;
}

/** Restore files to their state before a message. A dry run lists the changes and returns their hash. */
export interface Rewind {
  session: string;
  message: string;
  dry_run?: boolean;
  hash?: string;
}

/** A message of the user. `images`: ids of uploads; `files`: paths below the session's folder. `priority`: "now" is delivered before all queued messages, "later" after them. The real CLI interrupts the running turn for "now" and starts the next one with this message. */
export interface Send {
  session: string;
  text?: string;
  images?: string[];
  files?: string[];
  uuid?: string | null;
  priority?: "later" | "next" | "now" | null;
}

/** An invalid message or a protocol error; after the latter the socket is closed. */
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

/** Twice a minute, and on ping. */
export interface ServerHeartbeat {
  type: "heartbeat";
  time: number;
}

/** The server, and the rights of this device. `machine`: its name in the cluster, "" if it is alone. */
export interface ServerHello {
  type: "hello";
  protocol: 1;
  version: string;
  device: string;
  scopes: string[];
  commands: string[];
  machine: string;
}

/** The outcome of a command. */
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

/** Changes of the session list. */
export interface ServerSessions {
  type: "sessions";
  items: SessionItem[];
}

/** Whether the events continue from where the client was, or start again, and why. */
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

/** A session. `forked_from` is the id of the original session, `forked_at` that of the message. `runner`: the machine that runs it, or ran it last; "" on a server alone. `agent`: the ACP agent that was chosen for it; "" for the CLI of the server. */
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
  agent: string;
}

/** `effort`: null is the model's default. */
export interface SetEffort {
  session: string;
  effort?: "high" | "low" | "max" | "medium" | "xhigh" | null;
}

/** A permission mode. */
export interface SetMode {
  session: string;
  mode: "acceptEdits" | "auto" | "bypassPermissions" | "default" | "dontAsk" | "manual" | "plan";
}

/** `model`: null is the default. */
export interface SetModel {
  session: string;
  model?: string | null;
}

/** The token budget for thinking; null is the default. */
export interface SetThinking {
  session: string;
  tokens?: number | null;
}

/** `url`: the address to which the browser was redirected after the sign-in. */
export interface SignedIn {
  session: string;
  server: string;
  url: string;
}

/** A new session in a folder. With `prompt` its first turn starts at once. Omitted choices take the server's defaults; null is the CLI's own default. In a cluster `runner` chooses a machine by name, and `labels` restricts the machines. `agent` names an ACP agent; the defaults of the server, except the mode, are choices for its CLI and do not apply to it. */
export interface Start {
  cwd: string;
  model?: string | null;
  mode?: "acceptEdits" | "auto" | "bypassPermissions" | "default" | "dontAsk" | "manual" | "plan";
  effort?: "high" | "low" | "max" | "medium" | "xhigh" | null;
  thinking_tokens?: number | null;
  output_style?: string | null;
  add_dirs?: string[];
  plugin_dirs?: string[];
  max_turns?: number | null;
  max_budget_usd?: number | null;
  runner?: string;
  labels?: string[];
  title?: string;
  agent?: string;
  prompt?: string;
}

export type ClientMessage = ClientHello | ClientSubscribe | ClientUnsubscribe | ClientWatch | ClientCommand | ClientVisible | ClientPing;

export type ServerMessage = ServerHello | ServerSubscribed | ServerEvents | ServerSessions | ServerReceipt | ServerResync | ServerHeartbeat | ServerError;

/** Every command, with the scope it needs and its fields. */
export interface Commands {
  about: { scope: "prompt"; fields: OfSession };
  accept_trust: { scope: "admin"; fields: AcceptTrust };
  answer: { scope: "approve"; fields: AnswerFields };
  archive: { scope: "prompt"; fields: Archive };
  cancel_prompt: { scope: "prompt"; fields: OfMessage };
  cancel_queued: { scope: "prompt"; fields: OfMessage };
  context_usage: { scope: "prompt"; fields: OfSession };
  continue: { scope: "prompt"; fields: Continue };
  delete: { scope: "admin"; fields: Delete };
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
  resume: { scope: "prompt"; fields: OfSession };
  retry: { scope: "prompt"; fields: OfSession };
  rewind: { scope: "approve"; fields: Rewind };
  send: { scope: "prompt"; fields: Send };
  send_held: { scope: "prompt"; fields: OfMessage };
  set_effort: { scope: "prompt"; fields: SetEffort };
  set_model: { scope: "prompt"; fields: SetModel };
  set_permission_mode: { scope: "approve"; fields: SetMode };
  set_thinking: { scope: "prompt"; fields: SetThinking };
  start: { scope: "prompt"; fields: Start };
  stop: { scope: "prompt"; fields: OfSession };
  stop_task: { scope: "prompt"; fields: OfTask };
}
