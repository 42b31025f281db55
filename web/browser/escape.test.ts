// Escape, innermost first: one press, one thing.

import { afterAll, beforeAll, expect, test } from "vitest";

import { on, use, words } from "./replies";
import { Server } from "./server";
import { part, Visitor } from "./visitor";

let server: Server;
let visitor: Visitor;

beforeAll(async () => {
  const replies = [
    on("Ask something", words("It asks."), use("Bash", { command: "touch x.txt" })),
    { when: { said: "It asks." }, times: 1, delay: 0.2, blocks: [words("This goes on and on. ".repeat(200))] },
    { when: { prompt: "Go on for long" }, times: 1, delay: 0.2, blocks: [words("On and on again. ".repeat(200))] },
  ];
  server = await Server.start({ script: { replies, afterwards: { blocks: [words("Heard.")] } } });
  visitor = await Visitor.come(server);
  visitor.page.setDefaultTimeout(15_000);
});
afterAll(() => part(server, visitor));

test("Escape closes a menu, a dialog, a panel, clears the message, denies a prompt, stops the turn: in this order", async () => {
  const { page } = visitor;
  const escape = () => page.keyboard.press("Escape");
  await visitor.startSession();
  await visitor.say("Ask something");
  const prompt = page.getByRole("alertdialog");
  await prompt.waitFor();
  await visitor.composer.fill("written meanwhile");
  await page.keyboard.press("Alt+5");
  const panel = page.getByRole("complementary", { name: /help/i });
  await panel.waitFor();
  await page.keyboard.press("Control+/");
  const dialog = page.getByRole("dialog", { name: "Commands" });
  await dialog.waitFor();
  await escape();
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: /mode: Ask/ }).click();
  await page.getByRole("menu").waitFor();
  await escape();
  await page.getByRole("menu").waitFor({ state: "detached" });
  expect(await panel.isVisible()).toBe(true);
  await escape();
  await panel.waitFor({ state: "detached" });
  expect(await prompt.isVisible()).toBe(true);
  expect(await visitor.composer.inputValue()).toBe("written meanwhile");
  await prompt.focus();
  await escape();
  expect(await visitor.composer.inputValue()).toBe("");
  expect(await prompt.isVisible()).toBe(true);
  await escape();
  await prompt.waitFor({ state: "detached" });
  await visitor.sees(/This goes on/);
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await escape();
  await visitor.sees("Stopped by you");
  await visitor.composer.press("ArrowUp");
  expect(await visitor.composer.inputValue()).toBe("written meanwhile");
  await visitor.composer.fill("");
});

test("Stop does the same as the last Escape", async () => {
  await visitor.say("Go on for long");
  await visitor.sees(/On and on again/);
  await visitor.page.getByRole("button", { name: "Stop" }).click();
  await visitor.page.getByRole("button", { name: "Send" }).waitFor();
  await visitor.log.getByText("Stopped by you").nth(1).waitFor();
});
