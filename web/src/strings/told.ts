// What the CLI says in words of its own, said so that a newcomer understands it. In: its words. Out: ours; its own where we have none. "" is
// nothing: another line says it already.

import { own } from "../protocol/wire";

type Saying = readonly [RegExp, (...parts: string[]) => string];

/** When a hook runs, for the middle of a sentence. */
const MOMENTS: Record<string, string> = {
  PreToolUse: "before a tool is used",
  PostToolUse: "after a tool was used",
  PostToolUseFailure: "after a tool failed",
  PermissionRequest: "when your consent is asked for",
  UserPromptSubmit: "when you send a message",
  Stop: "when the model wants to stop",
  SubagentStart: "when an agent begins",
  SubagentStop: "when an agent wants to stop",
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

const blocked = (why = ""): string => `A hook blocked your message: the model did not get it. The hook said: ${sentence(reason(why) || "nothing")}`;

/** What a hook said, without the command that it is. */
const reason = (words: string): string => words.trim().replace(/^\[[\s\S]*?\]: (?=\S)/, "").trim();

const SAYINGS: readonly Saying[] = [
  [/^Stop hook feedback:\s*([\s\S]*)$/, (why) => `A hook did not let the model stop, so it goes on. The hook said: ${reason(why!)}`],
  [/^SubagentStop hook feedback:\s*([\s\S]*)$/, (why) => `A hook did not let an agent stop, so it goes on. The hook said: ${reason(why!)}`],
  [/^Stop hook error occurred/, () => ""], // the feedback says it, and the key that it names is not one of this page
  [/^UserPromptSubmit operation blocked by hook:\s*([\s\S]*?)(?:\s*Original prompt:[\s\S]*)?$/, blocked],
  [/^The prompt was blocked by a hook: ([\s\S]*)$/, blocked],
  [/^PreToolUse:\S+ hook error: ([\s\S]*)$/, (why) => `A hook refused it: ${reason(why!)}`],
  [/^(\w+): the hook \[[\s\S]*?\] failed( with exit code \d+)?:? ?([\s\S]*)$/, (event, code, why) => `A hook that runs ${moment(event!)} failed${code}${why ? `: ${why.trim()}` : ""}. It went on without it.`],
  [/^(\w+): Hook callback \S+ failed: ([\s\S]*)$/, (event) => `A hook that runs ${moment(event!)} failed. It went on as if the hook had said nothing.`],
  [/^([\w:]+) says: ([\s\S]*)$/, (event, words) => `A hook that runs ${moment(event!)} says: ${words!.trim()}`],
  [/^([\w:]+) hook (?:error|failed)[^:]*: ([\s\S]*)$/, (event, words) => `A hook that runs ${moment(event!)} failed: ${words!.trim()}`],
  [/^Output token limit hit\./, () => "The answer had reached the greatest length. The model was asked to go on where it stopped."],
  [/^Your response above was cut off mid-stream\./, () => "The connection broke in the middle of the answer. The model was asked to go on where it stopped."],
  [/^Your response above was stopped by a safety classifier/, () => "The model was told that its answer was stopped, and to go on without it."],
  [/^(.+)'s safeguards stopped the response above/, (model) => `The safeguards of ${model} stopped the answer above. It goes on once, knowing that.`],
  [/^\[structured-output-enforce\]/, () => "The model was reminded to answer in the form that was asked for."],
  [/^The earlier part of this conversation was replaced by a summary/, () => ""],
  [/^This session is being continued from a previous conversation/, () => ""], // the line about the compaction says it; the summary is for the model
  [/^Auto mode can't check actions in this session\.([\s\S]*)$/, () => "The mode “Auto” cannot judge anything in this session, so it refuses whatever needs consent. Choose another mode."],
  [/^Compacted\s*$/, () => ""],
];

/** Longer is none of the CLI's sayings, and is not searched for one. */
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
  mode: (tool) => `${tool} was refused: the permission mode refuses everything that no rule allows.`,
  classifier: (tool) => `${tool} was refused: the mode “Auto” did not let it pass.`,
  hook: (tool) => `A hook refused ${tool}`,
};
const NAMED_RULE = /^Permission to use (\S+) has been denied: the rule (.+) denies it\.?$/;
const BY_RULE = /^Permission to use (\S+)(?: with command ([\s\S]*?))? has been denied\.?$/;

/** Why a tool was refused without asking. In: what the CLI tells of it. Out: one sentence. */
export function refused(tool: string, type: string, message: string): string {
  const short = message.slice(0, LONGEST).split(" IMPORTANT:")[0]!.trim();
  const named = NAMED_RULE.exec(short);
  if (named) return `The rule ${named[2]} in your settings refused ${named[1]}.`;
  const rule = BY_RULE.exec(short);
  if (rule) return `A rule in your settings refused ${rule[1]}${rule[2] ? `: ${rule[2]}` : "."}`;
  const say = own(DENIALS, type);
  if (say) return say(tool);
  return short ? `Refused without asking: ${short}` : `${tool} was refused without asking.`;
}

const HINTS: readonly (readonly [RegExp, string])[] = [
  [/not logged in|\/login/i, "The CLI is not logged in. On the machine where the server runs, start it in a terminal, type /login, and then send your message again."],
  [/invalid api key|authenticat|\b401\b|\b403\b/i, "The login or the API key was not accepted. Set it right where the server runs, start the server again, and send your message again."],
  [/credit|billing|payment/i, "The account with the API has no means left, or is blocked. See to it there, then send your message again."],
  [/connection refused|ECONN|ENOTFOUND|ETIMEDOUT|network|timed? ?out|connection error/i, "The API could not be reached from the machine where the server runs. See to its network, then send your message again."],
  [/\b429\b|rate.?limit/i, "Too much was asked in a short time. Wait a little, then send your message again."],
  [/\b5\d\d\b|overloaded/i, "Usually this passes. Send your message again in a minute."],
  [/model.*(not found|does not exist|not available)|\b404\b/i, "This model is not there for you. Choose another one below the message field."],
];

/** What can be done about an error. */
export const hint = (errors: readonly string[]): string => HINTS.find(([pattern]) => errors.some((error) => pattern.test(error)))?.[1] ?? "";

/** Work in the background that ended. */
export function taskEnded(status: string, description: string, summary: string): string {
  const name = description ? `“${description}”` : "Work in the background";
  if (status === "stopped") return `${name} was stopped.`;
  if (status === "failed") return `${name} failed in the background${summary && summary !== description ? `: ${summary}` : "."}`;
  if (!summary || summary === description || /^Background command .* completed/s.test(summary)) return `${name} is done, in the background${/\(exit code (\d+)\)/.test(summary) ? `, with exit code ${/\(exit code (\d+)\)/.exec(summary)![1]}` : ""}.`;
  return `${name} is done, in the background: ${summary}`;
}
