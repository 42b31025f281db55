// The files that a session wrote.

import { expect, test } from "vitest";

import { blankCall } from "../../src/state/sketch";
import type { Call } from "../../src/state/state";
import { changeOf, filesOf, patchOf, writers } from "../../src/views/panels/changes";

let count = 0;
const call = (name: string, detail: unknown, more: Partial<Call> = {}): Call => ({ ...blankCall("", `c${++count}`, name, 0), status: "done", detail, ...more });
const files = (...calls: Call[]) => filesOf(writers(calls).map(({ call: one, nested }) => changeOf(one, nested)));
const edit = (path: string, original: string, from: string, to: string) => call("Edit", { filePath: path, originalFile: original, oldString: from, newString: to });

test("several changes of a file are one, from before the first to after the last", () => {
  const [file] = files(edit("/p/a", "one\ntwo\n", "one", "1"), edit("/p/a", "1\ntwo\n", "two", "2"), edit("/p/a", "1\n2\n", "1", "one"));
  expect(file).toMatchObject({ path: "/p/a", added: 1, removed: 1, whole: true, created: false });
  expect(file!.changes).toHaveLength(3);
  expect(file!.hunks[0]!.lines).toEqual([" one", "-two", "+2"]);
});

test("a new file is all new lines", () => {
  const [file] = files(call("Write", { type: "create", filePath: "/p/n", content: "a\nb\n", structuredPatch: [], originalFile: null }));
  expect(file).toMatchObject({ created: true, added: 2, removed: 0 });
  expect(patchOf([file!], "/p").split("\n").slice(0, 3)).toEqual(["--- /dev/null", "+++ b/n", "@@ -0,0 +1,2 @@"]);
});

test("changes of subagents count; failed and denied ones do not", () => {
  const inner = edit("/p/b", "x", "x", "y");
  const found = files(call("Task", undefined, { rows: [inner] }), call("Write", {}, { status: "denied" }), call("Bash", {}));
  expect(found.map((one) => one.path)).toEqual(["/p/b"]);
  expect(found[0]!.changes[0]!.nested).toBe(true);
});

test("the file changed last is first", () => {
  expect(files(edit("/a", "1", "1", "2"), edit("/b", "1", "1", "2"), edit("/a", "2", "2", "3")).map((one) => one.path)).toEqual(["/a", "/b"]);
});

test("changes of a file without known content are listed in order", () => {
  const hunk = { oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines: ["-a", "+b"] };
  const part = () => call("Edit", { filePath: "/c", structuredPatch: [hunk] });
  expect(files(part(), part())[0]).toMatchObject({ whole: false, added: 2, removed: 2 });
});

test("dollar signs in what is put in stay as they are", () => {
  expect(files(edit("/d", "a", "a", "$&$1"))[0]!.hunks[0]!.lines).toContain("+$&$1");
});
