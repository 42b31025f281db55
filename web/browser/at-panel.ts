// Actions on the side panel, and its accessibility check.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import type { Locator, Page } from "playwright-core";

import type { Server } from "./server";
import { Visitor, type Look } from "./visitor";

/** A visitor with a session. Actions that take longer than a person would wait fail. */
export async function comeAndStart(server: Server, look: Look = {}): Promise<Visitor> {
  const visitor = await Visitor.come(server, look);
  visitor.page.setDefaultTimeout(10_000);
  await visitor.startSession();
  return visitor;
}

/** Open a panel by its button in the session header. */
export async function openPanel({ page }: Visitor, name: string): Promise<Locator> {
  await page.getByRole("group", { name: "Panels" }).or(page.getByRole("toolbar", { name: "Panels" })).or(page.getByRole("navigation", { name: "Panels" })).getByRole("button", { name, exact: true }).click();
  const panel = page.getByRole("complementary", { name, exact: true });
  await panel.waitFor();
  return panel;
}

interface Violation {
  id: string;
  nodes: { html: string }[];
}

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** The axe violations inside an element. */
export async function faultsOf(page: Page, selector: string): Promise<string[]> {
  await page.evaluate(readFileSync(AXE, "utf8"));
  const found = (await page.evaluate(`axe.run(${JSON.stringify(selector)}).then((told) => told.violations)`)) as Violation[];
  return found.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

/** Save a screenshot for review, if SHOTS names a folder. */
export async function picture({ page }: Visitor, name: string): Promise<void> {
  const folder = process.env["SHOTS"];
  if (folder) await page.screenshot({ path: `${folder}/${name}.png` });
}
