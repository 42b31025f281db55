// Edit, MultiEdit: replace parts of a file.

import { object, objects, text, type Json } from "../protocol/wire";
import type { Call, Help } from "../state/state";
import { strings } from "../strings";
import { Diff } from "../ui/diff";
import { changeOf, figures, intended, placedEdit } from "./change";
import { useFolder } from "./folder";
import { isOver, lineOf } from "./outcome";
import { Note, Rest, Result } from "./parts";
import { shorten } from "../ui/paths";
import type { Tool } from "./tool";

const { edit } = strings.tools;

function Body({ call }: { call: Call }) {
  const change = changeOf(call);
  const folder = useFolder();
  if (!change) return <Result call={call} />;
  const failed = isOver(call) && call.status !== "done";
  return (
    <>
      {failed && <Result call={call} />}
      {failed && <Note>{edit.tried}</Note>}
      <Diff path={shorten(change.path, folder)} fullPath={change.path} hunks={change.hunks} created={change.created} numbers={change.placed} />
    </>
  );
}

/** Whether the diff shows everything in these edits. */
const isPlain = (edits: unknown): boolean =>
  Array.isArray(edits) && edits.every((one: unknown) => Object.entries(object(one)).every(([name, value]) => (name === "replace_all" ? value === false : ["old_string", "new_string"].includes(name) && typeof value === "string")) && one === object(one));

/** All that an input says, before it is allowed. */
function Preview({ input, name, help }: { input: Json; name: string; help: Help | undefined }) {
  const path = text(input["file_path"]);
  const folder = useFolder();
  const edits = name === "MultiEdit" ? objects(input["edits"]) : [input];
  const places = help?.places ?? [];
  const placed = edits.length > 0 && edits.length === places.length && places.every((one) => one !== null);
  const hunks = placed ? edits.flatMap((one, at) => placedEdit(one, places[at]!)) : intended(name, input);
  const matches = places[0]?.matches ?? 0;
  return (
    <div className="tool-preview">
      <Diff path={shorten(path, folder)} fullPath={path} hunks={hunks} numbers={placed} whole />
      {input["replace_all"] === true && <Note>{matches > 1 ? edit.everyMatch(matches) : edit.everywhere}</Note>}
      <Rest input={name === "MultiEdit" && isPlain(input["edits"]) ? { ...input, edits: "" } : input} shown={["file_path", "old_string", "new_string", ...(name === "MultiEdit" ? ["edits"] : [])]} flags={["replace_all"]} />
    </div>
  );
}

const made = (name: string): Tool => ({
  icon: "edit",
  line(call, folder) {
    const change = changeOf(call);
    return lineOf(strings.tools.verbs.edit, call, shorten(change?.path ?? "", folder), change !== null && call.status === "done" && figures(change));
  },
  Body,
  Preview: ({ input, help }) => <Preview input={input} name={name} help={help} />,
});

export const editTool = made("Edit");
export const multiEditTool = made("MultiEdit");
