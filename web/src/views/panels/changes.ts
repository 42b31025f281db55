// The files changed by a session and its subagents, each from before its first change to after its last. Pure.

import { object, text, texts, type Hunk, type Json } from "../../protocol/wire";
import type { Call, Row } from "../../state/state";
import { compare, countOf, hunksOf } from "../../ui/diff-rows";
import { shorten } from "../../ui/paths";

/** One change to one file. */
export interface Change {
  call: string;
  path: string;
  created: boolean;
  hunks: Hunk[];
  /** The whole file before and after; null if unknown. */
  before: string | null;
  after: string | null;
  /** Made by a subagent. */
  nested: boolean;
}

export interface ChangedFile {
  path: string;
  created: boolean;
  added: number;
  removed: number;
  /** All changes combined; if they cannot be combined, one after the other. */
  hunks: Hunk[];
  changes: Change[];
  /** Whether `hunks` is the combined change. */
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

interface Writer {
  call: Call;
  nested: boolean;
}

/** The calls whose changes of files are in force: those that were not undone by restoring the files. */
export function writers(rows: readonly Row[]): Writer[] {
  const before = new Map<string, number>(); // how many had written when a message was sent
  let found: Writer[] = [];
  for (const row of rows) {
    if (row.kind === "said") before.set(row.uuid, found.length);
    if (row.kind === "call") found.push(...writersIn(row, false));
    if (row.kind === "notice" && row.about === "rewound") found = restored(found, before.get(text(row.facts["message"])) ?? 0, texts(row.facts["files"]));
  }
  return found;
}

function writersIn(call: Call, nested: boolean): Writer[] {
  const own = call.status === "done" && Object.hasOwn(WRITERS, call.name) ? [{ call, nested }] : [];
  return [...own, ...call.rows.flatMap((row) => (row.kind === "call" ? writersIn(row, true) : []))];
}

/** Without the later changes of these files. */
function restored(all: readonly Writer[], from: number, files: readonly string[]): Writer[] {
  const isRestored = (path: string): boolean => files.some((file) => file === path || file.endsWith(`/${path}`));
  return all.filter(({ call }, at) => at < from || !isRestored(WRITERS[call.name]!(object(call.detail), call.input).path));
}

export function changeOf(call: Call, nested: boolean): Change {
  const detail = object(call.detail);
  const told = WRITERS[call.name]!(detail, call.input);
  const hunks = hunksOf(detail["structuredPatch"]).filter((one) => one.lines.length > 0);
  return { ...told, call: call.id, nested, hunks: hunks.length ? hunks : between(told.before, told.after) };
}

/** Larger files are not compared. */
const LARGEST = 400_000;

const between = (before: string | null, after: string | null): Hunk[] => (before === null || after === null || before.length + after.length > LARGEST ? [] : compare(before, after));

/** By file, most recently changed first. */
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

/** A range of no lines refers to the line before it. */
const range = (start: number, lines: number): string => `${lines === 0 ? start - 1 : start},${lines}`;

/** All changes as a patch for `git apply` or `patch`. */
export function patchOf(files: readonly ChangedFile[], folder: string): string {
  return files.flatMap((file) => {
    const name = shorten(file.path, folder);
    const head = [`--- ${file.created ? "/dev/null" : `a/${name}`}`, `+++ b/${name}`];
    return [...head, ...file.hunks.flatMap((one) => [`@@ -${range(one.oldStart, one.oldLines)} +${range(one.newStart, one.newLines)} @@`, ...one.lines])];
  }).join("\n");
}
