// The states of the page in screenshots and accessibility checks, with the steps to reach each. The server uses SHOWCASE. Each state
// continues from the one before.

import type { Locator } from "playwright-core";

import { openNewSession, type Visitor } from "./visitor";

export interface PageState {
  name: string;
  reach(visitor: Visitor): Promise<void>;
}

const PATIENCE = 8000;
export const prompt = ({ page }: Visitor): Locator => page.getByRole("alertdialog").first();
export const allow = async (visitor: Visitor): Promise<void> => {
  const request = prompt(visitor).getByRole("group", { name: "Request" });
  if (await request.count()) await request.press("End");
  await prompt(visitor).getByRole("button", { name: /^(Allow|Yes)/ }).first().click({ timeout: PATIENCE });
};
export const ends = async (visitor: Visitor, words: string): Promise<void> => visitor.log.getByText(words).last().waitFor({ timeout: PATIENCE });
const panel = (name: string): PageState["reach"] => async ({ page }) => {
  await page.keyboard.press("Escape");
  await openPanel(page, name);
};

/** By its button, or by the session's menu on narrow screens. */
export async function openPanel(page: Visitor["page"], name: string): Promise<void> {
  const wanted = new RegExp(`^${name}`, "i");
  const button = page.locator(".session-head").getByRole("button", { name: wanted });
  if (await button.first().isVisible()) await button.first().click();
  else {
    await page.locator('.session-head [aria-haspopup="menu"]').last().click();
    await page.locator('[role^="menuitem"]').filter({ hasText: wanted }).first().click();
  }
  const panel = page.getByRole("complementary", { name: wanted });
  await panel.waitFor();
  await panel.getByText("Loading…").waitFor({ state: "detached" });
}

export const STATES: PageState[] = [
  { name: "welcome", reach: async ({ page }) => page.getByRole("main").getByRole("heading").first().waitFor() },
  {
    name: "new-session",
    reach: async ({ page }) => {
      await openNewSession(page);
      await page.getByRole("dialog", { name: "New session" }).waitFor();
    },
  },
  {
    name: "answer",
    reach: async (visitor) => {
      await visitor.page.getByRole("dialog").getByRole("button", { name: "Start" }).click();
      await visitor.say("Look at the project");
      await visitor.sees("The change is small");
    },
  },
  {
    name: "permission-edit",
    reach: async (visitor) => {
      await visitor.say("Change the greeting");
      await prompt(visitor).waitFor();
    },
  },
  {
    name: "permission-write",
    reach: async (visitor) => {
      await allow(visitor);
      await ends(visitor, "now uses an f-string");
      await visitor.say("Add a test");
      await prompt(visitor).waitFor();
    },
  },
  {
    name: "diff",
    reach: async (visitor) => {
      await allow(visitor);
      await ends(visitor, "The test is there.");
      await visitor.log.getByRole("button", { name: /Edited/ }).click();
    },
  },
  {
    name: "terminal",
    reach: async (visitor) => {
      await visitor.say("Run the tests");
      await allow(visitor);
      await ends(visitor, "One test fails.");
      await visitor.log.getByRole("button", { name: /^Ran/ }).last().click();
    },
  },
  {
    name: "permission-bash",
    reach: async (visitor) => {
      await visitor.say("Delete the build");
      await prompt(visitor).waitFor();
    },
  },
  {
    name: "questions",
    reach: async (visitor) => {
      await prompt(visitor).getByRole("button", { name: /^(Deny|No)/ }).first().click();
      await ends(visitor, "As you wish.");
      await visitor.say("Ask me");
      await visitor.page.getByText("What should an empty name give?").first().waitFor();
    },
  },
  {
    name: "plan",
    reach: async (visitor) => {
      await visitor.page.keyboard.press("Escape");
      await ends(visitor, "I know enough.");
      await visitor.say("Make a plan");
      await visitor.page.getByText("Nothing else is touched.").first().waitFor();
    },
  },
  {
    name: "tasks",
    reach: async (visitor) => {
      await prompt(visitor).getByRole("button", { name: /^Approve and review/ }).click({ timeout: PATIENCE });
      await ends(visitor, "Then I begin.");
      await visitor.say("Keep a list");
      await ends(visitor, "The list is kept.");
      await openPanel(visitor.page, "Tasks");
    },
  },
  {
    name: "subagent",
    reach: async (visitor) => {
      await visitor.page.keyboard.press("Escape");
      await visitor.say("Send a subagent");
      await ends(visitor, "The subagent found nothing.");
    },
  },
  {
    name: "notebook",
    reach: async (visitor) => {
      await visitor.say("Edit the notebook");
      await allow(visitor);
      await ends(visitor, "The cell is changed.");
      await visitor.log.getByRole("button", { name: /notes\.ipynb/ }).last().click();
    },
  },
  { name: "changes", reach: panel("Changes") },
  { name: "context", reach: panel("Context") },
  { name: "mcp", reach: panel("MCP") },
  { name: "help", reach: panel("Help") },
  { name: "settings", reach: panel("Settings") },
  { name: "inspector", reach: panel("Inspector") },
  {
    name: "palette",
    reach: async ({ page }) => {
      await page.keyboard.press("Escape");
      await page.keyboard.press("Control+/");
      await page.getByRole("dialog").waitFor();
    },
  },
  {
    name: "queue",
    reach: async (visitor) => {
      await visitor.page.keyboard.press("Escape");
      await visitor.say("Be slow");
      await visitor.sees("takes its time");
      await visitor.say("And then say something else");
    },
  },
  {
    name: "stopped",
    reach: async (visitor) => {
      await visitor.page.getByRole("button", { name: /^Stop/ }).first().click();
      await visitor.sees(/Stopped by you/);
    },
  },
  {
    name: "usage",
    reach: async ({ page, server }) => {
      await page.goto(`${server.origin}/#/usage`);
      await page.getByRole("heading", { name: /usage/i }).first().waitFor();
      await page.locator(".usage-chart canvas").first().waitFor(); // the chart is loaded after the page
    },
  },
  {
    name: "devices",
    reach: async ({ page, server }) => {
      await page.goto(`${server.origin}/#/devices`);
      await page.getByRole("heading", { name: /devices/i }).first().waitFor();
    },
  },
];
