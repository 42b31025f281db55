// Describes the permissions that were granted for a session and expired with its process. Pure.

import { objects, text, texts, type Json } from "../../protocol/wire";
import { strings } from "../../strings";

const words = strings.sessions.head.lapses;

function ruleWords(rule: Json): string {
  const content = text(rule["ruleContent"]);
  return content ? `${text(rule["toolName"])}(${content})` : words.every(text(rule["toolName"]));
}

function updateWords(update: Json): string[] {
  const rules = objects(update["rules"]).map(ruleWords);
  return [...(update["behavior"] === "deny" ? rules.map(words.denied) : rules), ...texts(update["directories"]).map(words.folder), ...(update["mode"] ? [words.mode(text(update["mode"]))] : [])];
}

/** The complete list: the user must see everything that is granted again. */
export const lapsedWords = (updates: readonly Json[]): string => updates.flatMap(updateWords).join(", ");
