// The advanced fields of a new session: validation, and the fields of `start` made from them. Pure.

import type { Start } from "../../protocol/messages";
import { strings } from "../../strings";

const words = strings.sessions.start;

/** As typed; "" leaves the default. */
export interface Limits {
  turns: string;
  budget: string;
  plugin: string;
}

export const NO_LIMITS: Limits = { turns: "", budget: "", plugin: "" };

/** The bounds of the server. */
const MOST_TURNS = 10_000;
const MOST_BUDGET = 100_000;

/** What is wrong with each field; "" for a valid one. */
export function limitErrors({ turns, budget, plugin }: Limits): Limits {
  const count = turns.trim();
  const usd = budget.trim();
  const folder = plugin.trim();
  const isCount = /^\d+$/.test(count) && Number(count) >= 1 && Number(count) <= MOST_TURNS;
  const isUsd = /^\d*\.?\d+$/.test(usd) && Number(usd) > 0 && Number(usd) <= MOST_BUDGET;
  return {
    turns: count === "" || isCount ? "" : words.badTurns,
    budget: usd === "" || isUsd ? "" : words.badBudget,
    plugin: folder === "" || folder.startsWith("/") ? "" : words.badPlugin,
  };
}

export const isValid = (limits: Limits): boolean => Object.values(limitErrors(limits)).every((one) => one === "");

export function limitFields({ turns, budget, plugin }: Limits): Partial<Start> {
  return {
    ...(turns.trim() && { max_turns: Number(turns.trim()) }),
    ...(budget.trim() && { max_budget_usd: Number(budget.trim()) }),
    ...(plugin.trim() && { plugin_dirs: [plugin.trim()] }),
  };
}
