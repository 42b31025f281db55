// Further tools: searches, lists, agents, skills, plans, questions, notebooks with Markdown, and a real MCP server.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { weather } from "./mcp-servers";
import { on as turn, use, words as text } from "./replies";
import { Server, type Reply } from "./server";
import { part, Visitor } from "./visitor";

const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const FORECAST = { name: "week_forecast", description: "The weather", annotations: { readOnlyHint: true } };
const WEATHER = weather(FORECAST, [{ type: "text", text: "Rain all week." }, { type: "text", text: '{"high":12,"days":["Mon","Tue"]}' }, { type: "image", data: DOT, mimeType: "image/png" }]);
const TOOLS = "Bash,Read,Edit,Write,NotebookEdit,Glob,Grep,TodoWrite,TaskCreate,TaskUpdate,TaskList,TaskGet,AskUserQuestion,Skill,Task,ExitPlanMode,EnterPlanMode";
const NOTEBOOK = { cells: [{ cell_type: "markdown", id: "intro", metadata: {}, source: ["# Sums"] }, { cell_type: "code", id: "sum", metadata: {}, execution_count: null, outputs: [], source: ["print(1 + 1)"] }], metadata: {}, nbformat: 4, nbformat_minor: 5 };


const replies: Reply[] = [
  turn("search", use("Glob", { pattern: "**/*.ts" }), use("Grep", { pattern: "answer", output_mode: "content" })),
  turn("list", use("TaskCreate", { subject: "Write tests", description: "all of them", activeForm: "Writing tests" }), use("TaskUpdate", { taskId: "1", status: "in_progress" }), use("TaskList", {})),
  turn("to do", use("TodoWrite", { todos: [{ content: "One", status: "completed", activeForm: "Doing one" }, { content: "Two", status: "in_progress", activeForm: "Doing two" }] })),
  turn("weather", use("mcp__weather__week_forecast", { city: "Oslo" })),
  turn("delegate", use("Task", { description: "Look around", prompt: "You look **around**.", subagent_type: "general-purpose", run_in_background: false })),
  turn("You look", text("I found **two** files.")),
  turn("skilled", use("Skill", { skill: "greeting" })),
  turn("cells", use("Read", { file_path: "notes.ipynb" })),
  { when: { after: "Read" }, times: 1, blocks: [use("NotebookEdit", { notebook_path: "notes.ipynb", cell_id: "intro", cell_type: "markdown", new_source: "# Sums\n\nand *more*" }), use("NotebookEdit", { notebook_path: "notes.ipynb", cell_id: "sum", new_source: "print(3)", edit_mode: "insert", cell_type: "code" }), use("NotebookEdit", { notebook_path: "notes.ipynb", cell_id: "sum", new_source: "", edit_mode: "delete" })] },
  turn("ask me", use("AskUserQuestion", { questions: [{ question: "Which colour?", header: "Colour", multiSelect: false, options: [{ label: "Red", description: "warm" }, { label: "Blue", description: "cool" }] }] })),
];

const box = mkdtempSync(join(tmpdir(), "handrail-cli-"));
let server: Server;
let visitor: Visitor;

beforeAll(async () => {
  const cli = join(box, "cli");
  writeFileSync(join(box, "weather.py"), WEATHER);
  writeFileSync(join(box, "mcp.json"), JSON.stringify({ mcpServers: { weather: { command: "python3", args: [join(box, "weather.py")] } } }));
  writeFileSync(cli, `#!/bin/sh\nexec "${resolve(import.meta.dirname, "../../.venv/bin/handrail-agent")}" --tools "${TOOLS}" --mcp-config "${join(box, "mcp.json")}" "$@"\n`);
  chmodSync(cli, 0o755);
  server = new Server({
    cli,
    script: { replies, afterwards: { blocks: [text("Over.")] } },
    files: {
      "src/app.ts": "export const answer = 42;\n",
      "notes.ipynb": JSON.stringify(NOTEBOOK),
      "../.claude/skills/greeting/SKILL.md": "---\nname: greeting\ndescription: Greets\n---\n\n# Greet\n\nSay hello.\n",
      "../.claude/settings.json": JSON.stringify({ permissions: { allow: ["Edit", "NotebookEdit", "Skill", "Task", "mcp__weather"] } }),
    },
  });
  await server.start();
  visitor = await Visitor.come(server);
  visitor.page.setDefaultTimeout(10_000);
  await visitor.startSession();
});

afterAll(async () => {
  await part(server, visitor);
  rmSync(box, { recursive: true, force: true });
});

const line = (name: RegExp) => visitor.log.getByRole("button", { name, expanded: false }).last();

async function opened(name: RegExp) {
  await visitor.page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" }); // nothing moves under the pointer any more
  await line(name).click();
  return visitor.log.locator(".call", { has: visitor.page.getByRole("button", { name, expanded: true }) }).last().locator(".call-body");
}

test("searches count and list their results", async () => {
  await visitor.say("search");
  await (await opened(/^Found \*\*\/\*\.ts 1 file/)).getByText("src/app.ts").waitFor();
  await (await opened(/^Searched for answer 1 line/)).getByText(/export const answer = 42/).waitFor();
});

test("tasks are added, changed and listed", async () => {
  await visitor.say("list");
  await line(/^Added a task Write tests #1/).waitFor();
  await line(/^Updated task #1 in progress/).waitFor();
  await (await opened(/^Listed tasks 0 of 1 done/)).getByText("Write tests").waitFor();
});

test("a to-do list shows its progress and the current item", async () => {
  await visitor.say("to do");
  const body = await opened(/^Updated to-dos 1 of 2 done · Doing two/);
  await body.getByText("One · done").waitFor();
  await body.getByText("Two · in progress").waitFor();
});

test("a tool of an MCP server is named after its server, its image is shown and its JSON is formatted", async () => {
  await visitor.say("weather");
  const body = await opened(/^Weather › Week Forecast Oslo/);
  await body.getByText("Rain all week.").waitFor();
  const lines = await body.locator(".code-line").allInnerTexts();
  expect(lines.map((line) => line.trimEnd())).toEqual(expect.arrayContaining(['  "high": 12,', '  "days": [', '    "Mon",']));
  expect(await body.getByRole("img", { name: "Image" }).getAttribute("src")).toContain("data:image/png;base64,");
});

test("an agent shows its task and its answer", async () => {
  await visitor.say("delegate");
  const body = await opened(/^Agent Look around general-purpose/);
  await body.locator("strong", { hasText: "around" }).waitFor();
  await body.locator("strong", { hasText: "two" }).waitFor();
});

test("a skill is shown by its name", async () => {
  await visitor.say("skilled");
  await (await opened(/^Loaded skill greeting/)).getByText("Launching skill: greeting").waitFor();
});

test("cells are shown before and after: rendered Markdown, an inserted and a deleted cell", async () => {
  await visitor.say("cells");
  const changed = await opened(/^Edited a cell of notes\.ipynb Markdown, cell intro/);
  await changed.getByText("Before", { exact: true }).waitFor();
  await changed.locator("em", { hasText: "more" }).waitFor();
  await (await opened(/^Added a cell to notes\.ipynb code/)).getByText("print(3)").waitFor();
  await (await opened(/^Deleted a cell of notes\.ipynb/)).getByText("print(1 + 1)").waitFor();
});

test("a question shows its answers", async () => {
  await visitor.say("ask me");
  const prompt = visitor.page.getByRole("alertdialog");
  await prompt.getByRole("radio", { name: "Blue" }).check();
  await prompt.getByRole("button", { name: "Send" }).click();
  await (await opened(/^Asked Which colour\? Blue/)).locator(".tool-answer", { hasText: "Blue" }).waitFor();
});
