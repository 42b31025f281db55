// Messages that wait while a turn runs.

import { afterAll, beforeAll, expect, test } from "vitest";

import { on, use, words } from "./replies";
import { Server } from "./server";
import { part, Visitor } from "./visitor";

let server: Server;
let visitor: Visitor;

const slow = (prompt: string) => ({ when: { prompt }, delay: 0.3, blocks: [words("This takes its time. ".repeat(100))] });

beforeAll(async () => {
  const replies = [on("Ask first", use("Bash", { command: "touch asked.txt" })), on("changed words", words("The changed words were heard.")), on("at once please", words("Heard at once.")), slow("Be slow")];
  server = await Server.start({ script: { replies, afterwards: { blocks: [words("Heard.")] } } });
  visitor = await Visitor.come(server);
  visitor.page.setDefaultTimeout(15_000);
});
afterAll(() => part(server, visitor));

async function busy(): Promise<void> {
  await visitor.startSession();
  await visitor.say("Be slow");
  await visitor.sees(/This takes its time/);
}

test("a follow-up is queued, also after Stop, and can be cancelled or edited", async () => {
  await busy();
  const { page } = visitor;
  await visitor.composer.fill("words that wait");
  await page.getByRole("button", { name: "Queue" }).click();
  const queue = page.getByRole("region", { name: "1 queued message" });
  await queue.getByText("words that wait").waitFor();
  await queue.getByRole("button", { name: "Edit" }).click();
  await page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>(".composer textarea")?.value === "words that wait");
  await queue.waitFor({ state: "detached" });
  await visitor.say("changed words");
  await queue.getByText("changed words").waitFor();
  await visitor.say("never mind");
  const both = page.getByRole("region", { name: "2 queued messages" });
  await both.getByRole("listitem").filter({ hasText: "never mind" }).getByRole("button", { name: "Cancel" }).click();
  await queue.waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await visitor.sees("Stopped by you");
  await queue.getByText("waiting for you since you stopped").waitFor();
  await page.reload();
  await queue.getByText("changed words").waitFor();
  expect(await visitor.log.getByText("The changed words were heard.").count()).toBe(0);
  await queue.getByRole("button", { name: "Send", exact: true }).click();
  await visitor.sees("The changed words were heard.");
  await queue.waitFor({ state: "detached" });
  expect(await visitor.log.getByText("never mind").count()).toBe(0);
});

test("a queued message also waits after Deny and stop, and can be cancelled", async () => {
  await visitor.startSession();
  await visitor.say("Ask first");
  const prompt = visitor.page.getByRole("alertdialog", { name: "Run this command?" });
  await prompt.waitFor();
  await visitor.say("said too early");
  const queue = visitor.page.getByRole("region", { name: "1 queued message" });
  await queue.getByText("said too early").waitFor();
  await prompt.getByRole("button", { name: "Deny with a reason" }).click();
  await prompt.getByRole("button", { name: "Deny and stop" }).click();
  await visitor.sees("Stopped by you");
  await queue.getByText("waiting for you since you stopped").waitFor();
  await queue.getByRole("button", { name: "Cancel" }).click();
  await queue.waitFor({ state: "detached" });
  expect(await visitor.log.getByText("said too early").count()).toBe(0);
});

test("a queued message can be sent now", async () => {
  await busy();
  await visitor.say("at once please");
  const queue = visitor.page.getByRole("region", { name: "1 queued message" });
  await queue.getByRole("button", { name: "Send now" }).click();
  await visitor.sees("Heard at once.");
});
