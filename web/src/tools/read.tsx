// Read: a file or part of one, an image, a notebook.

import { type Json, number, object, objects, own, plain, text } from "../protocol/wire";
import type { Call } from "../state/state";
import { strings } from "../strings";
import { Code } from "../ui/code";
import { languageOf } from "../ui/languages";
import { lineCount } from "../ui/line-count";
import { Cell } from "./cell";
import { useFolder } from "./folder";
import { lineOf } from "./outcome";
import { Note, Rest, Result } from "./parts";
import { shorten } from "../ui/paths";
import type { Tool } from "./tool";
import { inputOf } from "./typed";

const { read } = strings.tools;

/** The size of what was read, by the type the CLI reports. */
const SIZES: Record<string, (file: Json) => string> = {
  text(file) {
    const [from, count, total] = [number(file["startLine"]), number(file["numLines"]), number(file["totalLines"])];
    return from > 1 || count < total ? read.part(from || 1, (from || 1) + count - 1, total) : read.lines(lineCount(text(file["content"])) || count);
  },
  image: () => read.image,
  notebook: (file) => read.notebook(objects(file["cells"]).length),
  pdf: () => read.pdf,
};

const detailOf = (call: Call): { type: string; file: Json } => ({ type: text(object(call.detail)["type"]), file: object(object(call.detail)["file"]) });

/** Without a structured result, each line starts with its number: "12→text", "12⇥text". */
function unnumbered(shown: string): { from: number; text: string } | null {
  const lines = shown.split("\n");
  const from = /^\s*(\d+)[→\t]/.exec(lines[0] ?? "");
  if (!from || !lines.every((line) => !line || /^\s*\d+[→\t]/.test(line))) return null;
  return { from: Number(from[1]), text: lines.map((line) => line.replace(/^\s*\d+[→\t]/, "")).join("\n") };
}

function Body({ call }: { call: Call }) {
  const { type, file } = detailOf(call);
  const path = text(inputOf(call)["file_path"]);
  const title = shorten(path, useFolder());
  if (call.status !== "done") return call.result.length ? <Result call={call} /> : <Note>{title}</Note>;
  if (type === "notebook") return objects(file["cells"]).map((cell, at) => <Cell key={at} source={text(cell["source"])} type={text(cell["cellType"])} language={text(cell["language"])} title={text(cell["cell_id"])} />);
  const shown = type === "text" ? { from: number(file["startLine"]) || 1, text: text(file["content"]) } : unnumbered(plain(call.result));
  if (shown) return <Code text={shown.text} from={shown.from} language={languageOf(path)} title={title} fold />;
  return <Result call={call} />;
}

export const readTool: Tool = {
  icon: "file",
  looks: true,
  line(call, folder) {
    const { type, file } = detailOf(call);
    return lineOf(strings.tools.verbs.read, call, shorten(text(inputOf(call)["file_path"]), folder), call.status === "done" && own(SIZES, type)?.(file));
  },
  Body,
  Preview({ input }) {
    return (
      <div className="tool-preview">
        <Code text={text(input["file_path"])} title={read.file} />
        <Rest input={input} shown={["file_path"]} />
      </div>
    );
  },
};
