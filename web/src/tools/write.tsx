// Write: create or replace a whole file.

import { object, text } from "../protocol/wire";
import type { Call } from "../state/state";
import { strings } from "../strings";
import { Code } from "../ui/code";
import { Diff } from "../ui/diff";
import { compare } from "../ui/diff-rows";
import { languageOf } from "../ui/languages";
import { lineCount } from "../ui/line-count";
import { changeOf, figures } from "./change";
import { useFolder } from "./folder";
import { isOver, lineOf } from "./outcome";
import { Note, Rest, Result } from "./parts";
import { shorten } from "../ui/paths";
import type { Tool } from "./tool";
import { inputOf } from "./typed";

const { write, newFile } = strings.tools;

const isNew = (call: Call): boolean => object(call.detail)["type"] === "create";

function Body({ call }: { call: Call }) {
  const folder = useFolder();
  const change = changeOf(call)!;
  const path = shorten(change.path, folder);
  const content = text(inputOf(call)["content"]);
  const failed = isOver(call) && call.status !== "done";
  if (call.status === "done" && !isNew(call) && change.placed) return <Diff path={path} fullPath={change.path} hunks={change.hunks} />;
  return (
    <>
      {failed && <Result call={call} />}
      <Code text={content} from={1} language={languageOf(path)} live={call.status === "typing"} title={isNew(call) ? `${path} · ${newFile}` : path} fold={isOver(call)} />
    </>
  );
}

export const writeTool: Tool = {
  icon: "edit",
  line(call, folder) {
    const change = changeOf(call)!;
    const verb = isNew(call) ? strings.tools.verbs.create : strings.tools.verbs.write;
    return lineOf(verb, call, shorten(change.path, folder), isNew(call) && newFile, call.status === "done" && (isNew(call) || change.placed) && figures(change));
  },
  Body,
  Preview({ input, help }) {
    const path = text(input["file_path"]);
    const content = text(input["content"]);
    const shown = shorten(path, useFolder());
    const size = [lineCount(content), content.length] as const;
    return (
      <div className="tool-preview">
        {help?.current ? (
          <Diff path={shown} fullPath={path} hunks={compare(help.current, content)} />
        ) : (
          <Code text={content} from={1} language={languageOf(path)} title={help?.current === "" ? `${shown} · ${newFile}` : shown} />
        )}
        <Note>{help?.current === "" ? write.created(...size) : help?.current ? write.changed(...size) : write.whole(...size)}</Note>
        <Rest input={input} shown={["file_path", "content"]} />
      </div>
    );
  },
};
