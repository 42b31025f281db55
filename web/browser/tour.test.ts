// The tour, as a newcomer takes it: everything is allowed, or nothing more than the folder.

import { existsSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { Server } from "./server";
import { part, TALL, Visitor } from "./visitor";

let server: Server;
let ann: Visitor;

beforeAll(async () => {
  server = await Server.start({ files: { "README.md": "A project" } });
  ann = await Visitor.come(server, { size: TALL });
});

afterAll(() => part(server, ann));

const END = "That was the tour.";

/** Answer every prompt until the tour is over, with the buttons of these names. */
async function answer(button: RegExp): Promise<void> {
  const over = ann.log.getByText(END).last();
  const asked = ann.page.getByRole("alertdialog").first();
  while (!(await over.isVisible())) {
    await over.or(asked).first().waitFor({ timeout: 30_000 });
    if (!(await asked.isVisible())) continue;
    const option = asked.getByRole("radio").first();
    if (await option.isVisible()) await option.check();
    await asked.getByRole("button", { name: button }).first().click({ timeout: 5000 }).catch(() => undefined); // it may have been answered meanwhile
  }
}

test("the tour shows a picture, a page of a diff and an MCP tool, and removes its folder", { timeout: 180_000 }, async () => {
  await ann.page.getByRole("button", { name: "Start the tour" }).click();
  await ann.composer.waitFor();
  await answer(/^(Allow once|Send|Approve and review)/);
  await ann.page.setViewportSize({ width: 1280, height: 9000 }); // so high that all of it is drawn
  await ann.log.getByRole("button", { name: /get.stairs/i }).waitFor();
  await ann.log.getByRole("button", { name: /Edited .*stairs\.py/ }).click();
  await expect.poll(() => ann.log.locator(".diff-row, .diff-pair").count()).toBeGreaterThan(30);
  await ann.log.getByRole("button", { name: /stairs\.png/ }).last().click();
  const picture = ann.log.locator("img").last();
  await expect.poll(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBeGreaterThan(200);
  expect(existsSync(join(server.folder, "handrail-tour"))).toBe(false);
});

test("a declined and a stopped tour remove their folder too", { timeout: 180_000 }, async () => {
  const folder = join(server.folder, "handrail-tour");
  const first = ann.page.getByRole("alertdialog").getByText("mkdir handrail-tour").first();
  await ann.startSession();
  await ann.say("tour");
  await first.waitFor();
  await ann.page.getByRole("alertdialog").getByRole("button", { name: "Allow once" }).click();
  await first.waitFor({ state: "detached" });
  await answer(/^(Deny$|Skip|Keep planning)/);
  expect(existsSync(folder)).toBe(false);
  await ann.startSession();
  await ann.say("tour");
  await first.waitFor();
  await ann.page.getByRole("alertdialog").getByRole("button", { name: "Allow once" }).click();
  await ann.page.getByRole("alertdialog", { name: "Write notes.txt?" }).waitFor();
  expect(existsSync(folder)).toBe(true);
  await ann.page.locator(".composer").getByRole("button", { name: "Stop" }).click();
  await ann.sees("Stopped by you");
  await expect.poll(() => existsSync(folder)).toBe(false);
});

test("Demo mode has one model, without a price, and leads to a real one", async () => {
  await ann.page.getByRole("button", { name: "Model: Demo" }).click();
  const items = ann.page.getByRole("menu").locator('[role^="menuitem"]');
  expect((await items.allInnerTexts()).map((text) => text.trim().split("\n")[0])).toEqual(["Demo", "Connect a model…"]);
  await items.last().click();
  await ann.page.getByRole("dialog", { name: "Connect a model" }).waitFor();
  await ann.page.keyboard.press("Escape");
  await ann.page.getByRole("navigation", { name: "Sessions" }).getByRole("button", { name: "Usage", exact: true }).click();
  const models = ann.page.getByRole("region", { name: "Model", exact: true });
  await expect.poll(() => models.getByRole("rowheader").allInnerTexts()).toEqual(["Demo"]);
  expect(await ann.page.getByRole("main").innerText()).not.toMatch(/\$0\.0*[1-9]|\$[1-9]/);
});
