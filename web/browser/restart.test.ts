// The server is killed mid-turn and started again: the page reconnects by itself, reports what happened, and loses nothing.

import { afterAll, beforeAll, expect, test } from "vitest";

import { picture } from "./at-panel";
import { words as text } from "./replies";
import { Server } from "./server";
import { begin } from "./session";
import { part, Visitor } from "./visitor";

const LONG = Array.from({ length: 400 }, (_, at) => `word${at}`).join(" ");

let server: Server;
let visitor: Visitor;

beforeAll(async () => {
  server = await Server.start({
    script: {
      replies: [
        { when: { prompt: "short" }, times: 2, blocks: [text("A short answer.")] },
        { when: { prompt: "long" }, times: 1, blocks: [text("This comes first."), text(LONG)], delay: 0.02 },
        { when: { prompt: "Continue where" }, times: 1, blocks: [text("I went on.")] },
        { when: { prompt: "ask" }, times: 3, blocks: [text("May I?"), { type: "tool_use", name: "Bash", input: { command: "touch made.txt" } }] },
        { when: { said: "May I?" }, times: 1, blocks: [text("It was made.")] },
      ],
      afterwards: { blocks: [text("Nothing more.")] },
    },
  });
  visitor = await Visitor.come(server);
  await begin(visitor);
});
afterAll(() => part(server, visitor));

const shown = async (): Promise<string[]> => (await visitor.log.locator(".words, .said-words").allTextContents()).map((words) => words.trim());
const away = () => visitor.page.getByText(/Connection lost/);

test("a server killed in a block: the page reports the cut, reconnects, and shows the turn as interrupted", async () => {
  await visitor.say("short, please");
  await visitor.sees("A short answer.");
  await visitor.say("long, please");
  await visitor.sees(/word30/);
  await server.kill();
  await away().waitFor();
  await server.start();
  await away().waitFor({ state: "hidden" });
  await visitor.sees(/during this turn/);
  expect((await shown()).slice(0, 4)).toEqual(["short, please", "A short answer.", "long, please", "This comes first."]);
  expect((await shown()).filter((words) => words === "This comes first.")).toHaveLength(1);
  expect(await visitor.log.getByText("word30").count()).toBe(0); // it was never whole, and will not be
});

test("Continue asks a new process to continue", async () => {
  await visitor.log.getByRole("button", { name: "Continue" }).click();
  await visitor.sees("I went on.");
  expect((await shown()).filter((words) => words === "short, please")).toHaveLength(1);
});

test("a message written while the server is offline is sent once after the reconnect", async () => {
  await server.kill();
  await away().waitFor();
  await visitor.say("short again");
  await server.start();
  await expect.poll(async () => (await shown()).filter((words) => words === "short again"), { timeout: 20_000 }).toHaveLength(1);
  await expect.poll(async () => (await shown()).at(-1), { timeout: 20_000 }).toBe("A short answer.");
});

const prompt = () => visitor.page.getByRole("alertdialog").first();
const runAgain = () => visitor.log.getByRole("button", { name: "Run again" });

test("a question cut off by a kill is shown as interrupted, not denied", async () => {
  await visitor.say("ask me");
  await prompt().waitFor();
  await server.kill();
  await server.start();
  await prompt().waitFor({ state: "hidden", timeout: 20_000 });
  await visitor.sees(/^Interrupted before Bash ran: the server was restarted/);
  await visitor.log.locator(".call.interrupted").last().waitFor();
  expect(await visitor.log.getByText(/denied/i).count()).toBe(0);
  await picture(visitor, "interrupted");
});

test("an answer given while the server is offline is reported as not delivered, until dismissed", async () => {
  await runAgain().click();
  await prompt().waitFor();
  await server.kill();
  await away().waitFor();
  await prompt().getByRole("button", { name: "Allow once" }).click();
  await server.start();
  const report = visitor.page.getByRole("alert").filter({ hasText: "Your answer was not delivered: the question is no longer open" });
  await report.waitFor({ timeout: 20_000 });
  await picture(visitor, "not-delivered");
  await report.getByRole("button", { name: "Dismiss" }).click();
  await report.waitFor({ state: "detached" });
});

test("Run again sends the message of the interrupted turn again, and only the last one offers it", async () => {
  await expect.poll(() => runAgain().count(), { timeout: 20_000 }).toBe(1);
  await runAgain().click();
  await prompt().waitFor();
  expect(await runAgain().count()).toBe(0);
  await prompt().getByRole("button", { name: "Allow once" }).click();
  await visitor.sees("It was made.");
  expect((await shown()).filter((words) => words === "ask me").length).toBeGreaterThan(1);
});

test("the page reported no error", async () => {
  await visitor.leave();
});
