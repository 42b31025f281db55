// Sums usage per day, model and project, from the server's rows. Pure.

import { number, objects, text } from "../../protocol/wire";

export interface Sums {
  cost: number;
  input: number;
  output: number;
  cached: number;
  turns: number;
}

export interface UsageRow extends Sums {
  day: string;
  model: string;
  project: string;
}

export interface Group extends Sums {
  name: string;
}

const NONE: Sums = { cost: 0, input: 0, output: 0, cached: 0, turns: 0 };
const DAY = 86_400_000;

export function usageRows(told: unknown): UsageRow[] {
  return objects(told).map((one) => ({
    day: text(one["day"]),
    model: text(one["model"]),
    project: text(one["project"]),
    cost: number(one["cost_usd"]),
    input: number(one["input_tokens"]),
    output: number(one["output_tokens"]),
    cached: number(one["cache_read_tokens"]),
    turns: number(one["turns"]),
  }));
}

const plus = (a: Sums, b: Sums): Sums => ({ cost: a.cost + b.cost, input: a.input + b.input, output: a.output + b.output, cached: a.cached + b.cached, turns: a.turns + b.turns });

export const total = (rows: readonly Sums[]): Sums => rows.reduce(plus, NONE);
export const tokens = ({ input, output, cached }: Sums): number => input + output + cached;

/** Sorted by cost, highest first. */
export function grouped(rows: readonly UsageRow[], by: "model" | "project"): Group[] {
  const groups = new Map<string, Sums>();
  for (const row of rows) groups.set(row[by], plus(groups.get(row[by]) ?? NONE, row));
  return [...groups].map(([name, sums]) => ({ name, ...sums })).toSorted((a, b) => b.cost - a.cost || tokens(b) - tokens(a));
}

/** Every day of the range, also those without usage. `today`: in the server's time zone. */
export function perDay(rows: readonly UsageRow[], days: number, today: string): Group[] {
  const known = new Map<string, Sums>();
  for (const row of rows) known.set(row.day, plus(known.get(row.day) ?? NONE, row));
  const last = Date.parse(`${today}T00:00:00Z`);
  return Array.from({ length: days }, (_, at) => {
    const name = new Date(last - (days - 1 - at) * DAY).toISOString().slice(0, 10);
    return { name, ...(known.get(name) ?? NONE) };
  });
}

/** Today in the server's time zone: the newest day it reported, or ours if that is later. */
export function todayOf(rows: readonly UsageRow[], now: number): string {
  const ours = new Date(now).toISOString().slice(0, 10);
  return rows.reduce((latest, { day }) => (/^\d{4}-\d\d-\d\d$/.test(day) && day > latest ? day : latest), ours);
}
