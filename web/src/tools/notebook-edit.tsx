// NotebookEdit: a cell that is changed, inserted or deleted, before and after.

import { object, text, type Json } from "../protocol/wire";
import type { Call } from "../state/state";
import { strings } from "../strings";
import { Code } from "../ui/code";
import { Diff } from "../ui/diff";
import { compare } from "../ui/diff-rows";
import { visible } from "../ui/visible";
import { Cell } from "./cell";
import { useFolder } from "./folder";
import { isOver, lineOf } from "./outcome";
import { Note, Rest, Result, Section } from "./parts";
import { shorten } from "../ui/paths";
import type { Tool } from "./tool";
import { inputOf } from "./typed";

const { notebook, verbs } = strings.tools;
const WHOLE = 100_000;

interface Told {
  path: string;
  mode: "replace" | "insert" | "delete";
  type: string;
  language: string;
  cell: string;
  before: string | null;
  after: string;
}

function toldOf(input: Json, detail: Json): Told {
  const mode = text(detail["edit_mode"]) || text(input["edit_mode"]);
  return {
    path: text(input["notebook_path"]),
    mode: mode === "insert" || mode === "delete" ? mode : "replace",
    type: text(detail["cell_type"]) || text(input["cell_type"]) || (mode === "insert" ? "code" : ""), // "" where only the notebook knows
    language: text(detail["language"]) || "python",
    cell: text(detail["cell_id"]) || text(input["cell_id"]),
    before: typeof detail["old_source"] === "string" ? detail["old_source"] : null,
    after: text(input["new_source"]),
  };
}

const VERBS = { replace: verbs.editCell, insert: verbs.insertCell, delete: verbs.deleteCell };

/** The cell before and after; an inserted or deleted cell only once. */
function Cells({ told }: { told: Told }) {
  const title = shorten(told.path, useFolder());
  const named = `${title} · ${notebook.cell(told.type)}${told.cell ? ` ${visible(told.cell, true)}` : ""}`;
  if (told.mode === "insert") return <Cell source={told.after} type={told.type} language={told.language} title={notebook.added} />;
  if (told.mode === "delete") return told.before === null ? <Note>{notebook.deleted(told.cell)}</Note> : <Diff path={named} fullPath={told.path} hunks={compare(told.before, "")} />;
  if (told.before === null) return <Cell source={told.after} type={told.type} language={told.language} title={told.cell} />;
  return (
    <>
      <Diff path={named} fullPath={told.path} hunks={compare(told.before, told.after, WHOLE)} />
      {told.type === "markdown" && (
        <>
          <Section title={notebook.before}>
            <Cell source={told.before} type="markdown" language="" title="" />
          </Section>
          <Section title={notebook.after}>
            <Cell source={told.after} type="markdown" language="" title="" />
          </Section>
        </>
      )}
    </>
  );
}

function Body({ call }: { call: Call }) {
  return (
    <>
      {isOver(call) && call.status !== "done" && <Result call={call} />}
      <Cells told={toldOf(inputOf(call), object(call.detail))} />
    </>
  );
}

export const notebookEditTool: Tool = {
  icon: "book",
  line(call, folder) {
    const told = toldOf(inputOf(call), object(call.detail));
    return lineOf(VERBS[told.mode], call, shorten(told.path, folder), notebook.which(told.type, told.cell));
  },
  Body,
  Preview({ input }) {
    const told = toldOf(input, {});
    return (
      <div className="tool-preview">
        <Note>{`${VERBS[told.mode].not} · ${shorten(told.path, useFolder())} · ${notebook.which(told.type, visible(told.cell, true))}`}</Note>
        {told.mode !== "delete" && <Code text={told.after} language={told.type === "markdown" ? "markdown" : told.language} title={notebook.newSource} />}
        <Rest input={input} shown={["notebook_path", "edit_mode", "cell_type", "cell_id", ...(told.mode === "delete" ? [] : ["new_source"])]} />
      </div>
    );
  },
};
