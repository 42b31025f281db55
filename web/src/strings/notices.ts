// What the page tells of what happened, in sentences. In: the facts of a notice. Out: words.

import { number, text, texts, type Json } from "../protocol/wire";
import { clock } from "./figures";
import { modeName } from "./settings";
import { moment, refused, taskEnded, told } from "./told";

type Sentence = (facts: Json) => string;

const n = (value: unknown): string => number(value).toLocaleString("en");
const ERRORS: Record<string, string> = {
  overloaded: "The API is overloaded",
  rate_limit: "The API's rate limit is reached",
  authentication_failed: "The API did not accept the login",
  server_error: "The API failed",
  billing_error: "The API refused for a billing reason",
  invalid_request: "The API refused the request",
  model_not_found: "The API does not know the model",
};

/** How an answer is called, by what was asked: yes, no. */
const ANSWERS: Record<string, readonly [yes: string, no: string]> = {
  questions: ["Answered", "Not answered"],
  plan: ["Plan approved", "Plan not approved"],
  elicitation: ["Given", "Not given"],
};

/** Who answered, and with what words. Where it was this very browser, whoever reads it knows: only the words are said. */
function answered(facts: Json): string {
  const [yes, no] = ANSWERS[text(facts["kind"])] ?? ["Allowed", "Denied"];
  const reason = text(facts["reason"]);
  if (facts["here"] && !reason) return "";
  const tool = facts["kind"] === "permission" && facts["tool"] ? ` ${text(facts["tool"])}` : "";
  const where = facts["here"] ? "" : ` on ${text(facts["by"]) || "another device"}`;
  return `${facts["behavior"] === "deny" ? no : yes}${tool}${where}${reason ? `: ${reason}` : ""}`;
}

export const notices: Record<string, Sentence> = {
  too_large: (facts) => `Something of ${n(facts["bytes"])} bytes, too large to show here`,
  withdrawn: (facts) => `${facts["why"] ? "Message not delivered" : "Message cancelled"}${facts["text"] ? ` (“${text(facts["text"]).slice(0, 80)}”)` : ""}${facts["why"] ? `: ${text(facts["why"])}` : ""}`,
  answered,
  question_closed: (facts) => `No longer asked: ${facts["why"] === "withdrawn" ? "it was taken back" : text(facts["why"])}`,
  question_interrupted: (facts) => `Interrupted${facts["tool"] ? ` before ${text(facts["tool"])} ran` : ""}: ${text(facts["why"]) || "the process ended"}`,
  resumed: () => "The session goes on in a new process",
  process_ended: (facts) => `The process ended: ${text(facts["why"])}. Your next message starts it again`,
  silent: (facts) => `Nothing was heard of it for ${n(facts["seconds"])} s. It may be working quietly: wait, or stop it`,
  lapsed: (facts) => `Allowed only for the process that ended, so it is asked again: ${[...texts(facts["rules"]), ...(facts["mode"] ? [`the mode “${modeName(text(facts["mode"]))}”`] : [])].join(", ")}`,
  cleared: () => "The conversation was cleared. The model knows nothing of what stands above",
  rate_limit: (facts) => `${facts["status"] === "rejected" ? "The limit of your plan is reached: nothing more is answered" : "The limit of your plan is nearly reached"}${facts["resetsAt"] ? `${facts["status"] === "rejected" ? " until" : "; it begins anew at"} ${clock(number(facts["resetsAt"]) * 1000)}` : ""}`,
  auth_failed: (facts) => `The CLI could not log in: ${text(facts["error"])}. Log it in on the machine where the server runs`,
  interrupted: () => "Stopped by you",
  subagent_told: (facts) => text(facts["text"]),
  synthetic: (facts) => told(text(facts["text"])),
  compacting: () => "Compacting began: a summary takes the place of the conversation so far",
  compacted: (facts) => `Context compacted${facts["before"] && facts["after"] ? ` from ${n(facts["before"])} to ${n(facts["after"])} tokens` : ""}. Of what stands above the model knows only a summary`,
  compact_failed: (facts) => `The conversation could not be compacted${facts["error"] ? `: ${text(facts["error"])}` : ""}`,
  api_retry: (facts) => `${ERRORS[text(facts["error"])] ?? (facts["status"] ? "The API failed" : "The connection to the API failed")}${facts["status"] ? ` (${n(facts["status"])})` : ""}, trying again in ${n(facts["seconds"])} s (${n(facts["attempt"])} of ${n(facts["most"])})`,
  model_fallback: (facts) => `It goes on with ${text(facts["to"])}, because ${text(facts["from"])} is overloaded`,
  denied_by_rule: (facts) => refused(text(facts["tool"]), text(facts["type"]), text(facts["message"])),
  informational: (facts) => told(text(facts["text"])),
  hook_failed: (facts) => `A hook that runs ${moment(text(facts["hook"]))} failed${facts["code"] === undefined ? "" : ` with exit code ${n(facts["code"])}`}${facts["output"] ? `: ${text(facts["output"]).trim()}` : ""}`,
  task_ended: (facts) => taskEnded(text(facts["status"]), text(facts["description"]), text(facts["summary"])),
};
