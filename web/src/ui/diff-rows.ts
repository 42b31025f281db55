// Converts a patch to rows: line numbers, folds, and the words that changed within a line. Pure.

import { diffWordsWithSpace, structuredPatch } from "diff";

import { number, objects, texts, type Hunk } from "../protocol/wire";

export interface Mark {
  text: string;
  changed: boolean;
}

/** A line before the change, after it, or both. A line number of 0 means absent. */
export interface LineRow {
  kind: "same" | "added" | "removed";
  before: number;
  after: number;
  marks: Mark[];
}

/** Unchanged lines that are hidden. `rows` is empty if the patch does not contain them. */
interface FoldRow {
  kind: "fold";
  rows: LineRow[];
  count: number;
}

export type DiffRow = LineRow | FoldRow;

/** Unchanged lines shown around a change. */
const AROUND = 3;
/** Longer lines are not compared word by word. */
const LONGEST = 2000;
/** Above this share of changed text, marking words does not help. */
const MUCH = 0.75;
const PATIENCE = 200;
/** Limit on word comparisons per patch: the sum of the products of line lengths. */
const MOST_COMPARED = 20_000_000;

/** Decode hunks from the wire; missing fields get defaults. */
export const hunksOf = (value: unknown): Hunk[] =>
  objects(value).map((hunk) => ({ oldStart: number(hunk["oldStart"]), oldLines: number(hunk["oldLines"]), newStart: number(hunk["newStart"]), newLines: number(hunk["newLines"]), lines: texts(hunk["lines"]) }));

/** The difference between two texts; if computing it takes too long, all lines removed and added. */
export function compare(before: string, after: string, context = AROUND): Hunk[] {
  const patch = structuredPatch("", "", before, after, undefined, undefined, { context, timeout: PATIENCE });
  if (patch) return patch.hunks;
  return [{ oldStart: 1, oldLines: 0, newStart: 1, newLines: 0, lines: [...signed(before, "-"), ...signed(after, "+")] }];
}

/** A new file: every line is added. */
export function added(text: string): Hunk[] {
  const lines = signed(text.endsWith("\n") ? text.slice(0, -1) : text, "+");
  return text ? [{ oldStart: 0, oldLines: 0, newStart: 1, newLines: lines.length, lines }] : [];
}

const signed = (text: string, sign: string): string[] => text.split("\n").map((line) => sign + line);

export function countOf(hunks: readonly Hunk[]): { added: number; removed: number } {
  const lines = hunks.flatMap((hunk) => hunk.lines);
  return { added: lines.filter((line) => line.startsWith("+")).length, removed: lines.filter((line) => line.startsWith("-")).length };
}

export function rowsOf(hunks: Hunk[]): DiffRow[] {
  const out: DiffRow[] = [];
  let next = 1;
  for (const hunk of hunks) {
    const missing = hunk.oldStart - next;
    if (missing > 0) out.push({ kind: "fold", rows: [], count: missing });
    out.push(...folded(marked(numbered(hunk))));
    next = hunk.oldStart + hunk.oldLines;
  }
  return out;
}

function numbered(hunk: Hunk): LineRow[] {
  let before = hunk.oldStart;
  let after = hunk.newStart;
  const rows: LineRow[] = [];
  for (const line of hunk.lines) {
    const marks = [{ text: line.slice(1), changed: false }];
    if (line.startsWith("+")) rows.push({ kind: "added", before: 0, after: after++, marks });
    else if (line.startsWith("-")) rows.push({ kind: "removed", before: before++, after: 0, marks });
    else if (!line.startsWith("\\")) rows.push({ kind: "same", before: before++, after: after++, marks });
  }
  return rows;
}

/** Marks changed words in pairs of removed and added lines, matched by position. */
function marked(rows: LineRow[]): LineRow[] {
  let left = MOST_COMPARED;
  for (const { removed, added } of runs(rows)) {
    for (let at = 0; at < Math.min(removed.length, added.length); at += 1) {
      left -= removed[at]!.marks[0]!.text.length * added[at]!.marks[0]!.text.length;
      if (left > 0) compareWords(removed[at]!, added[at]!);
    }
  }
  return rows;
}

export interface Run {
  same: LineRow[];
  removed: LineRow[];
  added: LineRow[];
}

/** Groups rows into runs of unchanged, then removed, then added lines. */
export function runs(rows: LineRow[]): Run[] {
  const out: Run[] = [];
  let run: Run = { same: [], removed: [], added: [] };
  const flush = () => {
    if (run.same.length || run.removed.length || run.added.length) out.push(run);
    run = { same: [], removed: [], added: [] };
  };
  for (const row of rows) {
    const over = row.kind === "same" ? run.removed.length + run.added.length > 0 : row.kind === "removed" && run.added.length > 0;
    if (over) flush();
    run[row.kind].push(row);
  }
  flush();
  return out;
}

function compareWords(before: LineRow, after: LineRow): void {
  const [old, fresh] = [before.marks[0]!.text, after.marks[0]!.text];
  if (old.length > LONGEST || fresh.length > LONGEST) return;
  const parts = diffWordsWithSpace(old, fresh);
  const common = parts.reduce((sum, part) => sum + (part.added || part.removed ? 0 : part.value.trim().length), 0);
  if (common < (1 - MUCH) * Math.min(old.trim().length, fresh.trim().length)) return;
  before.marks = parts.filter((part) => !part.added).map((part) => ({ text: part.value, changed: part.removed }));
  after.marks = parts.filter((part) => !part.removed).map((part) => ({ text: part.value, changed: part.added }));
}

/** Folds long unchanged runs, except a few lines around the changes. */
function folded(rows: LineRow[]): DiffRow[] {
  const out: DiffRow[] = [];
  for (const [at, run] of runs(rows).entries()) {
    const lead = at === 0 ? 0 : AROUND;
    const trail = run.removed.length + run.added.length ? AROUND : 0;
    const hidden = run.same.slice(lead, run.same.length - trail);
    if (hidden.length > AROUND) out.push(...run.same.slice(0, lead), { kind: "fold", rows: hidden, count: hidden.length }, ...run.same.slice(run.same.length - trail));
    else out.push(...run.same);
    out.push(...run.removed, ...run.added);
  }
  return out;
}
