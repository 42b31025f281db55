// The change a call makes to a file: from the patch in its result, or from its input. Pure.

import { object, objects, text, type Hunk, type Json } from "../protocol/wire";
import type { Call, Place } from "../state/state";
import { added, compare, countOf, hunksOf } from "../ui/diff-rows";
import { inputOf } from "./typed";

export interface Change {
  path: string;
  hunks: Hunk[];
  created: boolean;
  /** Line numbers are those of the file. */
  placed: boolean;
}

type Reader = (input: Json) => Hunk[];

/** Context lines for edits: enough to show an edit in full, since unchanged lines at its ends locate it. */
const WHOLE = 100_000;

const FROM_INPUT: Record<string, Reader> = {
  Edit: (input) => compare(text(input["old_string"]), text(input["new_string"]), WHOLE),
  MultiEdit: (input) => objects(input["edits"]).flatMap((edit) => compare(text(edit["old_string"]), text(edit["new_string"]), WHOLE)),
  Write: (input) => added(text(input["content"])),
};

/** An edit at its place in the file: with line numbers, and the lines around it. */
export function placedEdit(edit: Json, place: Place): Hunk[] {
  const around = (middle: string): string => [...place.before, `${place.prefix}${middle}${place.suffix}`, ...place.after].join("\n");
  const offset = place.line - place.before.length - 1;
  return compare(around(text(edit["old_string"])), around(text(edit["new_string"]))).map((hunk) => ({ ...hunk, oldStart: hunk.oldStart + offset, newStart: hunk.newStart + offset }));
}

const isEdit = (name: string): boolean => Object.hasOwn(FROM_INPUT, name);

/** The changes described by an input. */
export const intended = (name: string, input: Json): Hunk[] => (isEdit(name) ? FROM_INPUT[name]!(input) : []);

/** Null if the call does not change a file. */
export function changeOf(call: Call): Change | null {
  if (!isEdit(call.name)) return null;
  const input = inputOf(call);
  const detail = object(call.detail);
  const told = hunksOf(detail["structuredPatch"]);
  const created = detail["type"] === "create";
  const path = text(detail["filePath"]) || text(input["file_path"]);
  if (told.length) return { path, hunks: told, created, placed: true };
  return { path, hunks: intended(call.name, input), created, placed: created };
}

/** "+12 −3" */
export function figures(change: Change): string {
  const { added, removed } = countOf(change.hunks);
  return change.created ? `+${added}` : `+${added} −${removed}`;
}
