// Sentences for notices in the conversation, from their facts.

import { number, text, texts, type Json } from "../protocol/wire";
import { baseName } from "../ui/paths";
import { clock } from "./figures";
import { modeName } from "./settings";
import { moment, refused, taskEnded, told } from "./told";

type Sentence = (facts: Json) => string;

const n = (value: unknown): string => number(value).toLocaleString("en");
const ERRORS: Record<string, string> = {
  overloaded: "The API is overloaded",
  rate_limit: "The API rate limit is reached",
  authentication_failed: "The API rejected the login",
  server_error: "The API failed",
  billing_error: "The API rejected the request because of billing",
  invalid_request: "The API rejected the request",
  model_not_found: "The API does not know the model",
};

/** How an answer is described, by the kind of question. */
const ANSWERS: Record<string, readonly [yes: string, no: string]> = {
  questions: ["Answered", "Not answered"],
  plan: ["Plan approved", "Plan not approved"],
  elicitation: ["Sent", "Declined"],
};

/** Who answered, and the reason given. For answers from this browser only the reason is shown. */
function answered(facts: Json): string {
  const [yes, no] = ANSWERS[text(facts["kind"])] ?? ["Allowed", "Denied"];
  const reason = text(facts["reason"]);
  if (facts["here"] && !reason) return "";
  const tool = facts["kind"] === "permission" && facts["tool"] ? ` ${text(facts["tool"])}` : "";
  const where = facts["here"] ? "" : ` on ${text(facts["by"]) || "another device"}`;
  return `${facts["behavior"] === "deny" ? no : yes}${tool}${where}${reason ? `: ${reason}` : ""}`;
}

export const notices: Record<string, Sentence> = {
  too_large: (facts) => `${n(facts["bytes"])} bytes, too large to show here`,
  withdrawn: (facts) => `${facts["why"] ? "Message not delivered" : "Message cancelled"}${facts["text"] ? ` (“${text(facts["text"]).slice(0, 80)}”)` : ""}${facts["why"] ? `: ${text(facts["why"])}` : ""}`,
  answered,
  question_closed: (facts) => `Question closed: ${text(facts["why"])}`,
  question_interrupted: (facts) => `Interrupted${facts["tool"] ? ` before ${text(facts["tool"])} ran` : ""}: ${text(facts["why"]) || "the process ended"}`,
  resumed: () => "Resumed in a new process",
  process_ended: (facts) => `The process ended: ${text(facts["why"])}. Your next message restarts it`,
  silent: (facts) => `No output for ${n(facts["seconds"])} s. It may still be working: wait, or stop it`,
  lapsed: (facts) => `These permissions expired with the process; you will be asked again: ${[...texts(facts["rules"]), ...(facts["mode"] ? [`the mode “${modeName(text(facts["mode"]))}”`] : [])].join(", ")}`,
  cleared: () => "Conversation cleared. The model no longer knows the messages above",
  rate_limit: (facts) => `${facts["status"] === "rejected" ? "The usage limit of your plan is reached" : "The usage limit of your plan is almost reached"}${facts["resetsAt"] ? `; it resets at ${clock(number(facts["resetsAt"]) * 1000)}` : ""}`,
  auth_failed: (facts) => `The CLI could not log in: ${text(facts["error"])}. Log in on the machine that runs the server`,
  rewound: (facts) => {
    const files = texts(facts["files"]);
    return `Restored ${files.length === 1 ? "1 file" : `${n(files.length)} files`} to before ${facts["before"] ? `“${text(facts["before"]).slice(0, 80)}”` : "an earlier message"}: ${files.map(baseName).join(", ")}`;
  },
  interrupted: () => "Stopped by you",
  subagent_told: (facts) => text(facts["text"]),
  synthetic: (facts) => told(text(facts["text"])),
  compacting: () => "Compacting: replacing the conversation with a summary",
  compacted: (facts) => `Context compacted${facts["before"] && facts["after"] ? ` from ${n(facts["before"])} to ${n(facts["after"])} tokens` : ""}. The model knows only a summary of the messages above`,
  compact_failed: (facts) => `Compacting failed${facts["error"] ? `: ${text(facts["error"])}` : ""}`,
  api_retry: (facts) => `${ERRORS[text(facts["error"])] ?? (facts["status"] ? "The API failed" : "The connection to the API failed")}${facts["status"] ? ` (${n(facts["status"])})` : ""}, retrying in ${n(facts["seconds"])} s (${n(facts["attempt"])} of ${n(facts["most"])})`,
  model_fallback: (facts) => `Switched to ${text(facts["to"])} because ${text(facts["from"])} is overloaded`,
  denied_by_rule: (facts) => refused(text(facts["tool"]), text(facts["type"]), text(facts["message"])),
  informational: (facts) => told(text(facts["text"])),
  hook_failed: (facts) => `The hook that runs ${moment(text(facts["hook"]))} failed${facts["code"] === undefined ? "" : ` with exit code ${n(facts["code"])}`}${facts["output"] ? `: ${text(facts["output"]).trim()}` : ""}`,
  task_ended: (facts) => taskEnded(text(facts["status"]), text(facts["description"]), text(facts["summary"])),
};
