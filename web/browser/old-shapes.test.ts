// Frames that only some CLI versions send: results without is_error, `/context` as text, answers without a structured result, and everything
// a subagent reports. The transcript of such a CLI can be deleted with the session.

import { afterAll, beforeAll, expect, test } from "vitest";

import { comeAndStart, openPanel, picture } from "./at-panel";
import { assistant, called, mayIt, playedBy } from "./played-cli";
import { words } from "./replies";
import { Server } from "./server";
import { part, type Visitor } from "./visitor";

const CONTEXT = "## Context Usage\n**Model:** plain-model\n**Tokens:** 170k / 200k (85%)\n\n| Category | Tokens |\n|---|---|\n| System prompt | 20,000 |\n| Messages | 150,000 |\n| Free space | 30,000 |";
const QUESTION = { question: "Which color?", header: "Color", multiSelect: false, options: [{ label: "Red" }, { label: "Blue" }] };
const inside = { parent_tool_use_id: "task" };
const piece = (event: Record<string, unknown>) => ({ type: "stream_event", ...inside, api_message_id: "of-task", event });

let server: Server;
let visitor: Visitor;

beforeAll(async () => {
  server = new Server();
  playedBy(server, {
    turns: {
      hello: [assistant(words("Here I am."))],
      "/context": [{ type: "user", isReplay: true, message: { role: "user", content: `<local-command-stdout>${CONTEXT}</local-command-stdout>` } }],
      "too far": [{ type: "result", subtype: "error_max_turns", is_error: null }],
      "which color": [...called("q1", "AskUserQuestion", { questions: [QUESTION] }, "User has answered your questions: 'Which color?'='Blue'"), assistant(words("Blue it is."))],
      "a helper": [
        assistant({ type: "tool_use", id: "task", name: "Task", input: { description: "Look around", prompt: "Look." } }),
        { type: "system", subtype: "init", model: "small-model", permissionMode: "bypassPermissions", ...inside },
        piece({ type: "message_start", message: { id: "of-task" } }),
        piece({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
        piece({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "I am looking" } }),
        mayIt("Bash", { command: "ls" }), // the rest follows the answer
        { type: "assistant", ...inside, message: { id: "of-task", role: "assistant", model: "small-model", content: [words("I am looking around.")] } },
        { type: "result", ...inside, total_cost_usd: 40, duration_ms: 1 },
        { type: "user", parent_tool_use_id: null, message: { role: "user", content: [{ type: "tool_result", tool_use_id: "task", content: "Found." }] } },
        assistant(words("The helper is back.")),
      ],
    },
  });
  await server.start();
  visitor = await comeAndStart(server);
  await visitor.say("hello");
  await visitor.sees("Here I am.");
});
afterAll(() => part(server, visitor));

const status = () => visitor.page.getByRole("group", { name: "Status" });

test("the output of /context fills the gauge and the breakdown", async () => {
  await visitor.say("/context");
  await status().getByText(/85/).first().waitFor();
  const panel = await openPanel(visitor, "Context");
  await panel.getByRole("row", { name: /Messages 150,000/ }).waitFor();
  await panel.getByRole("alert").waitFor(); // over 80 %
  await picture(visitor, "context-text");
  await visitor.page.keyboard.press("Escape");
});

test("a result with an error subtype and no is_error ends in an error", async () => {
  await visitor.say("go too far");
  await visitor.log.locator(".turn-end.problem").getByText(/^Stopped: /).waitFor();
});

test("an answer without a structured result is shown as answered", async () => {
  await visitor.say("which color");
  await visitor.sees("Blue it is.");
  await visitor.log.getByRole("button", { name: /^Asked Which color\? Blue/ }).waitFor();
});

test("a subagent's text streams inside its card, and its frames leave the session alone", async () => {
  const before = await status().textContent();
  await visitor.say("call a helper");
  const card = visitor.log.locator(".call[data-tool=Task]").last();
  await card.getByText("I am looking", { exact: true }).waitFor();
  await picture(visitor, "subagent");
  const prompt = visitor.page.getByRole("alertdialog");
  await prompt.getByRole("button", { name: "Allow once" }).click(); // waits for the prompt, and fails if there are two
  await card.getByText("I am looking around.").waitFor();
  await visitor.sees("The helper is back.");
  expect(await card.getByText(/I am looking/).count()).toBe(1);
  await expect.poll(() => status().textContent()).not.toContain("$40");
  expect((await status().textContent())!.slice(0, 20)).toBe(before!.slice(0, 20)); // the same model and mode
});

test("deleting offers to delete the transcript, and says that it stays otherwise", async () => {
  const sent: string[] = [];
  const { page } = visitor;
  page.on("websocket", (socket) => socket.on("framesent", ({ payload }) => sent.push(String(payload))));
  await page.reload();
  await visitor.composer.waitFor();
  await page.getByRole("button", { name: /^More actions for / }).first().click();
  await page.getByRole("menuitem", { name: /^Delete/ }).click();
  const dialog = page.getByRole("dialog", { name: "Delete session" });
  await dialog.getByText("Delete this session and its history from Handrail?").waitFor();
  await dialog.getByText("own transcript stays on this machine").waitFor();
  const box = dialog.getByRole("checkbox", { name: "Also delete the transcript" });
  expect(await box.isChecked()).toBe(false);
  await box.check();
  await picture(visitor, "delete");
  await dialog.getByRole("button", { name: "Delete session" }).click();
  await page.getByText(/was deleted\.$/).waitFor();
  const command = sent.map((one) => JSON.parse(one) as { command?: string; fields?: unknown }).find((one) => one.command === "delete");
  expect(command?.fields).toMatchObject({ transcript: true });
});
