// Glob, Grep: search for files by name or content.

import { number, object, plain, text, texts } from "../protocol/wire";
import type { Call } from "../state/state";
import { strings } from "../strings";
import { Code } from "../ui/code";
import { useFolder } from "./folder";
import { lineOf } from "./outcome";
import { Fields, Files, Note, Result } from "./parts";
import { shorten } from "../ui/paths";
import type { Tool } from "./tool";
import { inputOf } from "./typed";

const { find } = strings.tools;

/** The number of results, if reported. */
function found(call: Call): string {
  const detail = object(call.detail);
  if (call.status !== "done") return "";
  if (detail["mode"] === "content") return find.lines(number(detail["totalLines"]) || number(detail["numLines"]));
  if (detail["mode"] === "count") return find.matches(number(detail["numMatches"]));
  if (detail["numFiles"] === undefined) return "";
  return find.files(number(detail["totalMatches"]) || number(detail["totalFiles"]) || number(detail["numFiles"]));
}

const where = (call: Call, folder = ""): string => {
  const path = text(inputOf(call)["path"]);
  return path && path !== folder ? find.below(shorten(path, folder)) : "";
};

function Body({ call }: { call: Call }) {
  const detail = object(call.detail);
  const folder = useFolder();
  const names = texts(detail["filenames"]).map((name) => shorten(name, folder));
  const content = text(detail["content"]) || (names.length ? "" : plain(call.result));
  if (call.status !== "done") return <Result call={call} />;
  return (
    <>
      <Fields fields={inputOf(call)} />
      {names.length > 0 && <Files names={names} label={find.files(names.length)} />}
      {content && <Code text={content} title={found(call) || strings.tools.result} fold />}
      {detail["truncated"] === true && <Note>{find.truncated}</Note>}
    </>
  );
}

const made = (verb: keyof typeof strings.tools.verbs): Tool => ({
  icon: "search",
  looks: true,
  line: (call, folder) => lineOf(strings.tools.verbs[verb], call, text(inputOf(call)["pattern"]), where(call, folder), found(call)),
  Body,
});

export const globTool = made("glob");
export const grepTool = made("grep");
