// Every tool, as a line and opened.

import { cleanup, render } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";

import { fallback } from "../../src/tools/fallback";
import { toolOf } from "../../src/tools/registry";
import { callOf, recorded } from "./calls";

afterEach(cleanup);

test.each(recorded)("a call of the recording $recording is a line, opens, and can be asked about", ({ call }) => {
  const tool = toolOf(call.name);
  const line = tool.line(call, "/project");
  expect(line.verb).toBeTruthy();
  expect(`${line.object}${line.outcome}`).not.toMatch(/undefined|NaN|\[object|tool_use_error/);
  const body = render(<tool.Body call={call} />).container;
  expect(body.textContent).toBeTruthy();
  expect(body.textContent).not.toMatch(/undefined|NaN|\[object|tool_use_error/);
  const Preview = tool.Preview ?? fallback.Preview!;
  const preview = render(<Preview input={call.input} call={call} />).container.textContent!;
  for (const value of Object.values(call.input)) if (typeof value === "string") for (const part of value.split("\n")) expect(preview).toContain(part.replace("/project/", "").replace(/^(# |\d+\. )/, ""));
});

test.each(recorded.filter(({ call }) => call.status === "failed"))("the failed call of $recording says why on its line", ({ call }) => {
  expect(toolOf(call.name).line(call).outcome).toBeTruthy();
});

const LINES: [string, Record<string, unknown>, Parameters<typeof callOf>[2], string][] = [
  ["Edit", { file_path: "/p/src/app.ts", old_string: "a", new_string: "b" }, { detail: { structuredPatch: [{ oldStart: 1, lines: ["-a", "+b", "+c"] }] } }, "Edited `src/app.ts` +2 −1"],
  ["Write", { file_path: "/p/new.txt", content: "a\nb\n" }, { detail: { type: "create", structuredPatch: [] } }, "Created `new.txt` new file · +2"],
  ["Bash", { command: "pytest -q" }, { status: "failed", result: "Exit code 1\nE   assert 1 == 2" }, "Ran `pytest -q` exit code 1 · E   assert 1 == 2"],
  ["Bash", { command: "pytest -q" }, { detail: { stdout: "....\n==== 41 passed in 3.11s ====\n", stderr: "" }, started: 1000, ended: 4200 }, "Ran `pytest -q` 41 passed in 3.11s · 3.2 s"],
  ["Bash", { command: "make" }, { status: "running" }, "Running `make`"],
  ["Bash", { command: "rm -rf /" }, { status: "denied", result: "The user doesn't want to proceed with this tool use." }, "Run `rm -rf /`"],
  ["Bash", { command: "sleep 9 &" }, { detail: { stdout: "", stderr: "", backgroundTaskId: "b1" } }, "Ran `sleep 9 &` in the background"],
  ["Read", { file_path: "/p/a.py" }, { detail: { type: "text", file: { startLine: 10, numLines: 5, totalLines: 100 } } }, "Read `a.py` lines 10–14 of 100"],
  ["Read", { file_path: "/p/../etc/passwd" }, { status: "failed", result: "<tool_use_error>File does not exist.</tool_use_error>" }, "Read `/p/../etc/passwd` File does not exist."],
  ["Glob", { pattern: "*.ts" }, { detail: { filenames: ["a.ts"], numFiles: 1 } }, "Found `*.ts` 1 file"],
  ["Grep", { pattern: "x", path: "/p/src" }, { detail: { mode: "content", numLines: 2, totalLines: 2 } }, "Searched for `x` in src · 2 lines"],
  ["WebFetch", { url: "https://example.org/a/" }, { detail: { code: 404, codeText: "Not Found", bytes: 2048 } }, "Fetched `example.org/a` 404 Not Found · 2 kB"],
  ["WebSearch", { query: "q" }, { detail: { results: [{ content: [{ title: "T", url: "https://e.org" }] }] } }, "Searched the web for `q` 1 result"],
  ["TaskUpdate", { taskId: "1", status: "in_progress" }, {}, "Updated task `#1` in progress"],
  ["TaskUpdate", { taskId: "3", addBlockedBy: ["2"], description: "x" }, {}, "Updated task `#3` waits for #2, description"],
  ["TodoWrite", { todos: [{ content: "a", status: "completed" }, { content: "b", status: "in_progress", activeForm: "Doing b" }] }, {}, "Updated to-dos 1 of 2 done · Doing b"],
  ["Task", { description: "look around", subagent_type: "Explore" }, { detail: { totalTokens: 1500, totalToolUseCount: 2, totalDurationMs: 12_000 } }, "Agent `look around` Explore · 2 tool calls · 1,500 tokens · 12 s"],
  ["NotebookEdit", { notebook_path: "/p/n.ipynb", cell_id: "c1", new_source: "x", edit_mode: "insert" }, {}, "Added a cell to `n.ipynb` code, cell c1"],
  ["mcp__github__search_issues", { query: "bug" }, {}, "GitHub › Search Issues `bug`"],
  ["mcp__calc__add", { a: 1 }, { title: "Add numbers" }, "Calc › Add numbers `1`"],
  ["Whatever", { path: "/x" }, {}, "Whatever `/x`"],
  ["constructor", {}, {}, "constructor"],
  ["Bash", { command: "echo \u202E\nls" }, {}, "Ran `echo ⟨U+202E⟩ ⏎ ls` no output"],
];

test.each(LINES)("%s %j %j is %s", (name, input, fields, words) => {
  const { verb, object, outcome } = toolOf(name).line(callOf(name, input, fields), "/p");
  expect([verb, object && `\`${object}\``, outcome].filter(Boolean).join(" ")).toBe(words);
});

const typing = (name: string, typed: string) => toolOf(name).line(callOf(name, {}, { status: "typing", typed }), "/p");

test("a call shows its input while it streams", () => {
  expect(typing("Write", '{"file_path": "/p/a.md", "content": "# T')).toMatchObject({ verb: "Write", object: "a.md" });
  expect(typing("Bash", '{"command": "npm ru')).toMatchObject({ verb: "Run", object: "npm ru" });
  for (const name of ["Edit", "Read", "Glob", "WebFetch", "NotebookEdit", "Task", "AskUserQuestion", "ExitPlanMode", "TodoWrite", "TaskCreate", "Skill", "mcp__a__b", "X"]) {
    const tool = toolOf(name);
    const call = callOf(name, {}, { status: "typing", typed: '{"a' });
    expect(tool.line(call).verb).toBeTruthy();
    render(<tool.Body call={call} />);
  }
});

const ODD: unknown[] = [null, 1, "text", [], [1, null, { type: 5 }], [{ type: "new_block", x: { y: 1 } }], { a: [] }];
const NAMES = ["Read", "Edit", "MultiEdit", "Write", "Bash", "BashOutput", "Glob", "Grep", "WebFetch", "WebSearch", "NotebookEdit", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "TodoWrite", "Task", "AskUserQuestion", "ExitPlanMode", "EnterPlanMode", "Skill", "mcp__a__b", "New"];

test.each(NAMES)("unexpected shapes are shown, and break nothing: %s", (name) => {
  const tool = toolOf(name);
  const Preview = tool.Preview ?? fallback.Preview!;
  for (const value of ODD) {
    const input = { command: value, file_path: value, content: value, old_string: value, todos: value, questions: value, edits: value, cells: value, plan: value, query: value };
    const call = callOf(name, input, { detail: { ...Object(value), structuredPatch: value, file: value, results: value, tasks: value, answers: value, filenames: value, content: value }, result: value });
    tool.line(call);
    render(<tool.Body call={call} />);
    render(<Preview input={input} call={undefined} />);
  }
  cleanup();
});
