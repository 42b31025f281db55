// The answers to AskUserQuestion, from the structured result or, for CLIs without one, from the text of the result.

import { isObject, object, plain, text, texts, type Json } from "../protocol/wire";
import type { Call } from "../state/state";

const escaped = (words: string): string => words.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
/** Longer questions are not searched for in the text. */
const LONGEST = 2000;

/** One answer per question, in order; "" for a question without one. */
export function answersOf(call: Call, questions: readonly Json[]): string[] {
  const told = object(call.detail)["answers"] ?? call.input["answers"];
  if (isObject(told)) return questions.map((question, at) => joined(told[text(question["question"])] ?? told[String(at)]));
  if (call.status !== "done") return questions.map(() => "");
  const said = plain(call.result);
  return questions.map((question) => quoted(said, text(question["question"])));
}

/** No answer was recognised in the result; show its text instead. */
export const isUnread = (call: Call, answers: readonly string[]): boolean =>
  call.status === "done" && !isObject(object(call.detail)["answers"]) && answers.every((one) => one === "") && plain(call.result) !== "";

const joined = (value: unknown): string => (typeof value === "string" ? value : texts(value).join(", "));

/** The CLI writes `"question"="answer"`, version 2.1.38 with single quotes. An answer ends at a quote followed by the next part of the sentence. */
function quoted(said: string, question: string): string {
  if (!question || question.length > LONGEST) return "";
  const found = new RegExp(`(["'])${escaped(question)}\\1=\\1([\\s\\S]*?)\\1(?=$|\\.|, ?["']| notes:| user notes:| selected preview:)`).exec(said);
  return found?.[2] ?? "";
}
