// Edit, MultiEdit: replace parts of a file.

import { object, text, type Json } from "../protocol/wire";
import type { Call } from "../state/state";
import { strings } from "../strings";
import { Diff } from "../ui/diff";
import { changeOf, figures, intended } from "./change";
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
function Preview({ input, name }: { input: Json; name: string }) {
  const path = text(input["file_path"]);
  const folder = useFolder();
  return (
    <div className="tool-preview">
      <Diff path={shorten(path, folder)} fullPath={path} hunks={intended(name, input)} numbers={false} whole />
      {input["replace_all"] === true && <Note>{edit.everywhere}</Note>}
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
  Preview: ({ input }) => <Preview input={input} name={name} />,
});

export const editTool = made("Edit");
export const multiEditTool = made("MultiEdit");
