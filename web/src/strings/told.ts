// Replaces messages of the CLI with clearer sentences; unknown messages pass unchanged. "" hides a message that another row already shows.

import { own } from "../protocol/wire";

type Saying = readonly [RegExp, (...parts: string[]) => string];

/** When a hook runs, as part of a sentence. */
const MOMENTS: Record<string, string> = {
  PreToolUse: "before a tool is used",
  PostToolUse: "after a tool was used",
  PostToolUseFailure: "after a tool failed",
  PermissionRequest: "when permission is requested",
  UserPromptSubmit: "when you send a message",
  Stop: "before the model stops",
  SubagentStart: "when a subagent starts",
  SubagentStop: "before a subagent stops",
  SessionStart: "when the session starts",
  SessionEnd: "when the session ends",
  PreCompact: "before the conversation is compacted",
  PostCompact: "after the conversation was compacted",
  Notification: "when you are notified",
};

/** "PreToolUse:Bash": before Bash is used. */
export function moment(name: string): string {
  const [event = "", tool = ""] = name.split(":");
  const when = own(MOMENTS, event) ?? `at ${event}`;
  return tool ? when.replace("a tool", tool) : when;
}

/** The same as a heading: "Before a tool is used". */
export const momentTitle = (event: string): string => (own(MOMENTS, event) ?? event).replace(/^[a-z]/, (first) => first.toUpperCase());

const sentence = (words: string): string => (/[.!?…]$/.test(words.trim()) ? words.trim() : `${words.trim()}.`);

const blocked = (why = ""): string => `A hook blocked your message; the model did not receive it. Hook: ${sentence(reason(why) || "no reason given")}`;

/** The reason given by a hook, without its command. */
const reason = (words: string): string => words.trim().replace(/^\[[\s\S]*?\]: (?=\S)/, "").trim();

const SAYINGS: readonly Saying[] = [
  [/^Stop hook feedback:\s*([\s\S]*)$/, (why) => `A hook kept the model from stopping. Hook: ${reason(why!)}`],
  [/^SubagentStop hook feedback:\s*([\s\S]*)$/, (why) => `A hook kept a subagent from stopping. Hook: ${reason(why!)}`],
  [/^Stop hook error occurred/, () => ""], // the feedback row says it, and the key it names does not exist on this page
  [/^UserPromptSubmit operation blocked by hook:\s*([\s\S]*?)(?:\s*Original prompt:[\s\S]*)?$/, blocked],
  [/^The prompt was blocked by a hook: ([\s\S]*)$/, blocked],
  [/^PreToolUse:\S+ hook error: ([\s\S]*)$/, (why) => `Denied by a hook: ${reason(why!)}`],
  [/^(\w+): the hook \[[\s\S]*?\] failed( with exit code \d+)?:? ?([\s\S]*)$/, (event, code, why) => `The hook that runs ${moment(event!)} failed${code}${why ? `: ${why.trim()}` : ""}. It was ignored.`],
  [/^(\w+): Hook callback \S+ failed: ([\s\S]*)$/, (event) => `The hook that runs ${moment(event!)} failed. It was ignored.`],
  [/^([\w:]+) says: ([\s\S]*)$/, (event, words) => `The hook that runs ${moment(event!)} says: ${words!.trim()}`],
  [/^([\w:]+) hook (?:error|failed)[^:]*: ([\s\S]*)$/, (event, words) => `The hook that runs ${moment(event!)} failed: ${words!.trim()}`],
  [/^Output token limit hit\./, () => "The answer reached the maximum length. The model was asked to continue."],
  [/^Your response above was cut off mid-stream\./, () => "The connection was lost during the answer. The model was asked to continue."],
  [/^Your response above was stopped by a safety classifier/, () => "A safety check stopped the answer. The model was asked to continue without it."],
  [/^(.+)'s safeguards stopped the response above/, (model) => `The safeguards of ${model} stopped the answer above. The model continues once.`],
  [/^\[structured-output-enforce\]/, () => "The model was reminded to use the required format."],
  [/^The earlier part of this conversation was replaced by a summary/, () => ""],
  [/^This session is being continued from a previous conversation/, () => ""], // the compaction row says it; the summary is for the model
  [/^Auto mode can't check actions in this session\.([\s\S]*)$/, () => "Auto mode cannot check actions in this session, so it denies everything that needs permission. Choose another mode."],
  [/^Compacted\s*$/, () => ""],
];

/** Longer texts are not matched against the table. */
const LONGEST = 10_000;

export function told(words: string): string {
  if (words.length > LONGEST) return words;
  for (const [pattern, say] of SAYINGS) {
    const found = pattern.exec(words.trim());
    if (found) return say(...found.slice(1).map((part) => part ?? ""));
  }
  return words;
}

const DENIALS: Record<string, (tool: string) => string> = {
  mode: (tool) => `${tool} was denied: the permission mode denies everything without an allow rule.`,
  classifier: (tool) => `${tool} was denied by Auto mode.`,
  hook: (tool) => `A hook denied ${tool}`,
};
const NAMED_RULE = /^Permission to use (\S+) has been denied: the rule (.+) denies it\.?$/;
const BY_RULE = /^Permission to use (\S+)(?: with command ([\s\S]*?))? has been denied\.?$/;

/** Why a tool call was denied without asking, in one sentence. */
export function refused(tool: string, type: string, message: string): string {
  const short = message.slice(0, LONGEST).split(" IMPORTANT:")[0]!.trim();
  const named = NAMED_RULE.exec(short);
  if (named) return `The rule ${named[2]} in your settings denied ${named[1]}.`;
  const rule = BY_RULE.exec(short);
  if (rule) return `A rule in your settings denied ${rule[1]}${rule[2] ? `: ${rule[2]}` : "."}`;
  const say = own(DENIALS, type);
  if (say) return say(tool);
  return short ? `Denied without asking: ${short}` : `${tool} was denied without asking.`;
}

const HINTS: readonly (readonly [RegExp, string])[] = [
  [/not logged in|\/login/i, "The CLI is not logged in. Start it in a terminal on the machine that runs the server, type /login, then send your message again."],
  [/invalid api key|authenticat|\b401\b|\b403\b/i, "The login or API key was rejected. Fix it on the machine that runs the server, restart the server, and send your message again."],
  [/credit|billing|payment/i, "The API account is out of credit or blocked. Resolve this with the provider, then send your message again."],
  [/connection refused|ECONN|ENOTFOUND|ETIMEDOUT|network|timed? ?out|connection error/i, "The API could not be reached from the machine that runs the server. Check its network, then send your message again."],
  [/\b429\b|rate.?limit/i, "Too many requests. Wait a moment, then send your message again."],
  [/\b5\d\d\b|overloaded/i, "This is usually temporary. Send your message again in a minute."],
  [/model.*(not found|does not exist|not available)|\b404\b/i, "This model is not available to you. Choose another one below the message field."],
];

/** What to do about an error. */
export const hint = (errors: readonly string[]): string => HINTS.find(([pattern]) => errors.some((error) => pattern.test(error)))?.[1] ?? "";

/** The end of a background task. */
export function taskEnded(status: string, description: string, summary: string): string {
  const name = description ? `“${description}”` : "A background task";
  if (status === "stopped") return `${name} was stopped.`;
  if (status === "failed") return `${name} failed in the background${summary && summary !== description ? `: ${summary}` : "."}`;
  if (!summary || summary === description || /^Background command .* completed/s.test(summary)) return `${name} finished in the background${/\(exit code (\d+)\)/.test(summary) ? ` with exit code ${/\(exit code (\d+)\)/.exec(summary)![1]}` : ""}.`;
  return `${name} finished in the background: ${summary}`;
}
