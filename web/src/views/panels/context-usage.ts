// The parts of the context, from the answer to `context_usage` or from the text of `/context`. Pure.

import { number, objects, text, type Json } from "../../protocol/wire";

export interface Part {
  name: string;
  tokens: number;
  /** `deferred`: loaded only when needed, so not in the window. */
  kind: "used" | "free" | "deferred";
}

export interface ContextUsage {
  used: number;
  total: number;
  parts: Part[];
}

const FREE = /^(free space|(auto)?compact buffer)/i;

export function usageOf(told: Json): ContextUsage {
  const parts = objects(told["categories"])
    .map((one) => ({ name: text(one["name"]), tokens: number(one["tokens"]), kind: kindOf(one) }))
    .filter((one) => one.tokens > 0);
  const sum = parts.filter((one) => one.kind === "used").reduce((all, one) => all + one.tokens, 0);
  return { used: number(told["totalTokens"]) || sum, total: number(told["maxTokens"]), parts };
}

function kindOf(one: Json): Part["kind"] {
  if (one["isDeferred"] === true || one["kind"] === "deferred") return "deferred";
  return one["kind"] === "free" || FREE.test(text(one["name"])) ? "free" : "used";
}
