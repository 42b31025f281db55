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

/** Answer what is asked until the tour is over. In: the names of the buttons that a person presses. */
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
  await ann.page.getByRole("button", { name: "Model: Demo" }).waitFor();
});
