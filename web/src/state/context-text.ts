// The text that `/context` prints, for CLIs without a structured answer.

import type { Context, ContextCategory } from "./state";

const HEADING = /^## Context Usage\s*$/m;
const TOKENS = /^\*\*Tokens:\*\*\s*([\d.,]+[km]?)\s*\/\s*([\d.,]+[km]?)/im;
const ROW = /^\|\s*([^|]+?)\s*\|\s*~?([\d.,]+[km]?)\s*\|/i;
/** Longer output is not parsed. */
const LONGEST = 100_000;
const MOST = 100;

const SCALE: Record<string, number> = { k: 1000, m: 1_000_000 };

/** "23.9k", "3,200" or "1m" as a number of tokens. */
function tokensOf(written: string): number {
  const scale = SCALE[written.slice(-1).toLowerCase()];
  const count = Number((scale ? written.slice(0, -1) : written).replaceAll(",", ""));
  return Number.isFinite(count) ? Math.round(count * (scale ?? 1)) : 0;
}

/** The rows of the first table; the tables of skills and MCP tools that follow repeat what it sums up. */
function categoriesOf(text: string): ContextCategory[] {
  const lines = text.split("\n");
  const head = lines.findIndex((line) => /^\|\s*Category\s*\|/i.test(line));
  if (head < 0) return [];
  const found: ContextCategory[] = [];
  for (const line of lines.slice(head + 2, head + 2 + MOST)) {
    const row = ROW.exec(line);
    if (!row) break;
    found.push({ name: row[1]!, tokens: tokensOf(row[2]!) });
  }
  return found;
}

/** Null for any other text. */
export function contextFrom(text: string): Context | null {
  if (text.length > LONGEST || !HEADING.test(text)) return null;
  const tokens = TOKENS.exec(text);
  if (!tokens) return null;
  return { used: tokensOf(tokens[1]!), total: tokensOf(tokens[2]!), categories: categoriesOf(text) };
}
