// The summary line of a call, and why it failed. Pure.

import { plain } from "../protocol/wire";
import type { Call, CallStatus } from "../state/state";
import { span } from "../strings/figures";
import { told } from "../strings/told";
import { visible } from "../ui/visible";
import type { Line } from "./tool";

/** A verb in three forms: while running, when done, and when not run or not run yet. */
interface Verb {
  doing: string;
  done: string;
  not: string;
}

const FORMS: Record<CallStatus, keyof Verb> = { typing: "not", waiting: "not", running: "doing", done: "done", failed: "not", denied: "not", declined: "not", interrupted: "not" };
const LONGEST = 300;
const MOST = 10_000;

export function lineOf(verb: Verb, call: Call, object: string, ...outcome: (string | false | undefined)[]): Line {
  const all = call.status === "done" ? outcome : [...outcome, why(call)];
  return { verb: verb[FORMS[call.status]], object: short(object), outcome: all.filter(Boolean).map((part) => short(part as string)).join(" · ") };
}

/** Deceptive characters are spelled out before the text is cut, as blanks must not push anything off the line. */
function short(text: string): string {
  const shown = visible(text.slice(0, MOST), true);
  return shown.length > LONGEST ? `${shown.slice(0, LONGEST)}…` : shown;
}

/** The text of a result, without the tags around errors. */
export const said = (call: Call): string =>
  plain(call.result)
    .replace(/<\/?tool_use_error>/g, "")
    .replace(/^Error: /, "");

/** The CLI's own words for "denied" and "stopped", which the mark on the line says. */
const SAID_ALREADY = /^(The user (doesn't want to|does not want this tool|denied this tool)|User rejected |\[Request interrupted)/;

const WITH_REASON: readonly CallStatus[] = ["failed", "denied", "interrupted"];

/** Why it failed: the first line of its result. */
export function why(call: Call): string {
  if (!WITH_REASON.includes(call.status)) return "";
  const [first = ""] = said(call)
    .replace(/^InputValidationError: /, "")
    .trim()
    .split("\n");
  return SAID_ALREADY.test(first) ? "" : told(first);
}

/** The duration, if it is long enough to mention. */
export function lasted(call: Call): string {
  const ms = call.ended && call.started ? call.ended - call.started - call.waited : call.elapsed * 1000;
  return ms >= 1000 ? span(ms) : "";
}

/** The call has ended. */
export const isOver = (call: Call): boolean => call.status !== "typing" && call.status !== "waiting" && call.status !== "running";
