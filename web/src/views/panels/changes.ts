// The files that a session wrote. In: its rows, those of subagents too. Out: per file what changed, from before the first change to after
// the last. Pure.

import { object, text, type Hunk, type Json } from "../../protocol/wire";
import type { Call, Row } from "../../state/state";
import { compare, countOf, hunksOf } from "../../ui/diff-rows";
import { shorten } from "../../ui/paths";

/** One change of one file. */
export interface Change {
  call: string;
  path: string;
  created: boolean;
  hunks: Hunk[];
  /** The whole file before and after it; null where that was not told. */
  before: string | null;
  after: string | null;
  /** A subagent did it. */
  nested: boolean;
}

export interface ChangedFile {
  path: string;
  created: boolean;
  added: number;
  removed: number;
  /** All changes as one; where that cannot be made out, one after the other. */
  hunks: Hunk[];
  changes: Change[];
  /** Whether `hunks` is all changes as one. */
  whole: boolean;
}

const WRITERS: Record<string, (detail: Json, input: Json) => Pick<Change, "path" | "created" | "before" | "after">> = {
  Write: (detail, input) => ({
    path: text(detail["filePath"]) || text(input["file_path"]),
    created: detail["type"] === "create",
    before: detail["type"] === "create" ? "" : whole(detail["originalFile"]),
    after: whole(detail["content"]) ?? whole(input["content"]),
  }),
  Edit: (detail, input) => ({ path: text(detail["filePath"]) || text(input["file_path"]), created: detail["originalFile"] === "", before: whole(detail["originalFile"]), after: edited(detail) }),
  NotebookEdit: (detail, input) => ({
    path: text(detail["notebook_path"]) || text(input["notebook_path"]),
    created: false,
    before: whole(detail["original_file"]),
    after: whole(detail["updated_file"]),
  }),
};
WRITERS["MultiEdit"] = WRITERS["Edit"]!;

const whole = (value: unknown): string | null => (typeof value === "string" ? value : null);

function edited(detail: Json): string | null {
  const before = whole(detail["originalFile"]);
  const from = text(detail["oldString"]);
  const to = text(detail["newString"]);
  if (before === null || (from && !before.includes(from))) return null;
  if (!from) return before === "" ? to : null;
  return detail["replaceAll"] === true ? before.split(from).join(to) : before.replace(from, () => to);
}

/** The calls that wrote a file. */
export function writers(rows: readonly Row[], nested = false): { call: Call; nested: boolean }[] {
  return rows.flatMap((row) => {
    if (row.kind !== "call") return [];
    const own = row.status === "done" && Object.hasOwn(WRITERS, row.name) ? [{ call: row, nested }] : [];
    return row.rows.length ? [...own, ...writers(row.rows, true)] : own;
  });
}

export function changeOf(call: Call, nested: boolean): Change {
  const detail = object(call.detail);
  const told = WRITERS[call.name]!(detail, call.input);
  const hunks = hunksOf(detail["structuredPatch"]).filter((one) => one.lines.length > 0);
  return { ...told, call: call.id, nested, hunks: hunks.length ? hunks : between(told.before, told.after) };
}

/** Larger files are not compared here. */
const LARGEST = 400_000;

const between = (before: string | null, after: string | null): Hunk[] => (before === null || after === null || before.length + after.length > LARGEST ? [] : compare(before, after));

/** Per file, those that changed last first. */
export function filesOf(changes: readonly Change[]): ChangedFile[] {
  const byPath = new Map<string, Change[]>();
  for (const change of changes) {
    const known = byPath.get(change.path) ?? [];
    byPath.delete(change.path);
    byPath.set(change.path, [...known, change]);
  }
  return [...byPath].map(([path, own]) => fileOf(path, own)).toReversed();
}

function fileOf(path: string, changes: Change[]): ChangedFile {
  const before = changes[0]!.before;
  const after = changes.at(-1)!.after;
  const known = before !== null && after !== null && before.length + after.length <= LARGEST;
  const single = changes.length === 1;
  const hunks = single ? changes[0]!.hunks : known ? between(before, after) : changes.flatMap((one) => one.hunks);
  return { path, created: changes[0]!.created, ...countOf(hunks), hunks, changes, whole: single || known };
}

/** Where there are no lines, the line before them counts. */
const range = (start: number, lines: number): string => `${lines === 0 ? start - 1 : start},${lines}`;

/** All of it as `git apply` and `patch` read it. */
export function patchOf(files: readonly ChangedFile[], folder: string): string {
  return files.flatMap((file) => {
    const name = shorten(file.path, folder);
    const head = [`--- ${file.created ? "/dev/null" : `a/${name}`}`, `+++ b/${name}`];
    return [...head, ...file.hunks.flatMap((one) => [`@@ -${range(one.oldStart, one.oldLines)} +${range(one.newStart, one.newLines)} @@`, ...one.lines])];
  }).join("\n");
}
