// While it happens: thoughts, words and the input of a tool as they are written, agents side by side with what they do, and another model and
// mode in the middle of a turn.

import { existsSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { comeAndStart } from "./at-panel";
import { after, on, use, words } from "./replies";
import { Server } from "./server";
import { part, type Visitor } from "./visitor";

const agent = (description: string, prompt: string) => use("Task|Agent", { description, prompt, subagent_type: "general-purpose", run_in_background: false });
const THOUGHT = Array.from({ length: 60 }, (_, at) => `thought${at}`).join(" ");
const POEM = Array.from({ length: 40 }, (_, at) => `line ${at} of a poem`).join("\n");

let server: Server;
let visitor: Visitor;

beforeAll(async () => {
  const replies = [
    { when: { prompt: "think first" }, times: 1, blocks: [{ type: "thinking", thinking: THOUGHT }, words("That was a thought.")], delay: 0.05 },
    { when: { prompt: "a poem" }, times: 1, blocks: [words("I write it."), use("Write", { file_path: "poem.txt", content: POEM })], delay: 0.08 },
    after("I write it.", words("It is written.")),
    on("two of them", words("Two go."), agent("The quick one", "You are quick."), agent("The slow one", "You are slow.")),
    on("You are quick.", words("I look once."), use("Read", { file_path: "app.txt" })),
    after("I look once.", words("Quickly found.")),
    { when: { prompt: "You are slow." }, times: 1, blocks: [words("I begin."), { type: "hang" }] },
    { when: { prompt: "change over" }, times: 1, blocks: [words("slowly ".repeat(60)), use("Write", { file_path: "unasked.txt", content: "x\n" })], delay: 0.1 },
    after("slowly slowly", words("Written without asking.")),
  ];
  server = await Server.start({ script: { replies, afterwards: { blocks: [words("Heard.")] } }, files: { "app.txt": "one\n" } });
  visitor = await comeAndStart(server);
});
afterAll(() => part(server, visitor));

test("thinking is collapsed until opened, and streams", async () => {
  await visitor.say("think first");
  const thought = visitor.log.locator("details.thinking");
  await thought.getByText("Thinking…").waitFor();
  expect(await thought.getByText("thought0").isVisible()).toBe(false);
  await thought.getByText("Thinking…").click();
  await thought.getByText(/thought5\b/).waitFor();
  expect(await thought.getByText("thought59").count()).toBe(0);
  await thought.getByText("thought59").waitFor();
  await visitor.sees("That was a thought.");
  await thought.getByText("Thought", { exact: true }).click();
  await expect.poll(() => thought.getByText("thought59").isVisible()).toBe(false);
});

test("the input of a tool streams before its prompt", async () => {
  await visitor.say("a poem");
  const line = visitor.log.getByRole("button", { name: /poem\.txt/ });
  await line.getByText("preparing").waitFor();
  await line.click();
  await visitor.log.getByText(/line 3 of a poem/).waitFor();
  expect(await visitor.log.getByText(/line 39 of a poem/).count()).toBe(0);
  expect(await visitor.page.getByRole("alertdialog").count()).toBe(0);
  const prompt = visitor.page.getByRole("alertdialog", { name: "Write poem.txt?" });
  await prompt.getByRole("group", { name: "Request" }).press("End");
  await prompt.getByRole("button", { name: "Allow once" }).click();
  await visitor.sees("It is written.");
});

test("parallel agents list their calls under their own lines", async () => {
  await visitor.say("two of them");
  const call = (name: string) => visitor.log.locator(".call", { has: visitor.page.getByRole("button", { name: new RegExp(name) }) }).first();
  const [quick, slow] = [call("The quick one"), call("The slow one")];
  await quick.locator(".call-rows").getByRole("button", { name: /^Read app\.txt/ }).waitFor();
  await quick.getByRole("button", { name: /^Agent The quick one/ }).click();
  await quick.getByText("Quickly found.").first().waitFor(); // while the other one still works
  await slow.getByText("running", { exact: true }).waitFor();
  expect(await slow.getByText("Quickly found.").count()).toBe(0);
  expect(await slow.getByRole("button", { name: /app\.txt/ }).count()).toBe(0);
  await visitor.page.getByRole("button", { name: "Stop" }).click();
  await visitor.sees("Stopped by you");
  await expect.poll(() => slow.getByText("running", { exact: true }).count()).toBe(0);
});

test("model and mode can be changed during a turn", async () => {
  const { page } = visitor;
  await visitor.say("change over");
  await visitor.sees(/slowly slowly/);
  await page.getByRole("button", { name: /^Permission mode: Ask/ }).click();
  await page.getByRole("menuitemradio", { name: /^Accept edits/ }).click();
  await page.getByRole("button", { name: /^Permission mode: Accept edits/ }).waitFor();
  await page.getByRole("button", { name: /^Model: / }).click();
  await page.getByRole("menuitemradio", { name: /^Sonnet/ }).first().click();
  await page.getByRole("button", { name: /^Model: Sonnet/ }).waitFor();
  expect(await visitor.log.getByText("Written without asking.").count()).toBe(0); // the turn continues
  await visitor.sees("Written without asking.");
  expect(existsSync(join(server.folder, "unasked.txt"))).toBe(true);
  expect(await page.getByRole("alertdialog").count()).toBe(0);
});
