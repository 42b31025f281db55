// A newcomer with the real CLI on the page. HANDRAIL_LINK: the link that its server printed; HANDRAIL_FOLDER: the project. The model is scripted.

import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import type { Server } from "./server";
import { sharedBrowser, Visitor } from "./visitor";

test("a person works with the real CLI", { timeout: 120_000 }, async () => {
  const link = process.env["HANDRAIL_LINK"]!;
  const context = await (await sharedBrowser()).newContext({ reducedMotion: "reduce" });
  const visitor = new Visitor(await context.newPage(), context, { origin: new URL(link).origin } as Server);
  const { page } = visitor;
  page.setDefaultTimeout(30_000);
  await page.goto(link);

  // As a newcomer: a task in the field of the start page, Enter, and one answer to the prompt.
  const task = page.getByRole("textbox", { name: "New task" });
  await task.fill("make a file");
  await task.press("Enter");
  await visitor.sees("I make a file.");
  const prompt = page.getByRole("alertdialog");
  await prompt.getByText("touch made").first().waitFor();
  await prompt.getByRole("button", { name: /^Allow once/ }).click();
  await visitor.sees("Made.");

  await visitor.say("and write another");
  await prompt.getByText("new.txt").first().waitFor();
  await prompt.getByRole("button", { name: /^Allow once/ }).click();
  await visitor.sees("Written.");
  const call = visitor.log.getByRole("button", { name: /Created.*new\.txt/ });
  await call.click();
  await visitor.log.getByText("two").first().waitFor();

  // The CLI sends the output at the end; until then the page says since when the command runs.
  await visitor.say("and wait");
  const running = visitor.log.getByRole("button", { name: /^Running while/ });
  await running.locator(".call-time").getByText(/^\d+(\.0)? s$/).waitFor();
  await running.click();
  await visitor.log.getByText(/^Running since \d\d:\d\d\. No output yet/).waitFor();
  writeFileSync(join(process.env["HANDRAIL_FOLDER"]!, "go"), "");
  await visitor.sees("let go");

  await visitor.composer.fill("/comp");
  await page.getByRole("option", { name: /compact/ }).first().waitFor();
  await visitor.composer.fill("");

  // All is there again after a reload, once.
  await page.reload();
  await visitor.sees("Written.");
  expect(await visitor.log.getByText("Made.", { exact: true }).count()).toBe(1);
  expect(await call.count()).toBe(1);

  await visitor.say("are you there?");
  await visitor.sees("Still here.");
  await visitor.leave();
});
