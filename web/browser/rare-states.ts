// Rarer states of the page, with the steps to reach each. Continues from the last of STATES with the same visitor and server.

import { join } from "node:path";

import { begin } from "./session";
import { allow, ends, openPanel, prompt, type PageState } from "./states";
import { openNewSession, type Visitor } from "./visitor";

/** Two bars, 160 × 100. */
const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAKAAAABkAgMAAAB82NMcAAAADFBMVEXw8OwLXK0aazgAAAAK6S4EAAAARUlEQVR42mNgGAWjYBSQAhixCa6Cs641wFhMxJo4qnBU4fBWyMLAwMDAEArnvz4wGjyjCkcVjiocVTiqcFThqMJRMFAAAJtYBJCQDKQ+AAAAAElFTkSuQmCC", "base64");

/** Start another session from the start page, which has a button for it in every size. */
async function fresh(visitor: Visitor): Promise<void> {
  await visitor.page.goto(`${visitor.server.origin}/#/`);
  await begin(visitor);
}

export const RARE_STATES: PageState[] = [
  {
    name: "wide",
    async reach(visitor) {
      await fresh(visitor);
      await visitor.say("Something wide, please: a title too long for any list and any header to show in full");
      await ends(visitor, "That was wide.");
    },
  },
  {
    name: "images",
    async reach(visitor) {
      await visitor.page.locator("input[type=file]").setInputFiles([1, 2].map((at) => ({ name: `picture-${at}.png`, mimeType: "image/png", buffer: PNG })));
      await visitor.page.getByRole("list", { name: "Images" }).getByRole("img").last().waitFor();
      await visitor.page.getByText("uploading…").first().waitFor({ state: "detached" });
      await visitor.composer.fill("Look at this");
    },
  },
  {
    name: "retry",
    async reach(visitor) {
      await visitor.page.getByRole("button", { name: "Send" }).click();
      await ends(visitor, "A picture.");
      await visitor.say("Fail once");
      await visitor.sees(/retrying/);
    },
  },
  {
    name: "compacted",
    async reach(visitor) {
      await ends(visitor, "at the second try");
      await visitor.say("/compact");
      await visitor.sees(/Context compacted/);
    },
  },
  {
    name: "rewind",
    async reach(visitor) {
      const { page } = visitor;
      await fresh(visitor);
      await visitor.say("Make it polite");
      await allow(visitor);
      await ends(visitor, "It is polite now.");
      await visitor.log.getByRole("button", { name: "Message actions" }).first().click();
      await page.getByRole("menuitem", { name: /Restore files/ }).click();
      await page.getByRole("dialog", { name: "Restore files" }).getByText("1 file will be restored").waitFor();
    },
  },
  {
    name: "forks",
    async reach({ page }) {
      await page.keyboard.press("Escape");
      await page.getByRole("log").getByRole("button", { name: "Message actions" }).first().click();
      await page.getByRole("menuitem", { name: "Fork from here" }).click();
      await page.getByText(/Forked from/).first().waitFor();
      await page.locator('.session-head [aria-haspopup="menu"]').last().click();
      await page.getByRole("menuitem", { name: "Show forks" }).click();
      await page.getByRole("dialog", { name: "Forks" }).waitFor();
    },
  },
  {
    name: "search",
    async reach({ page }) {
      await page.keyboard.press("Escape");
      await page.keyboard.press("Alt+s");
      await page.getByRole("searchbox", { name: "Search sessions" }).fill("greet");
      await page.getByRole("navigation").getByText(/results?$/).waitFor();
    },
  },
  {
    name: "elicitation",
    async reach(visitor) {
      const { page, server } = visitor;
      await page.getByRole("searchbox", { name: "Search sessions" }).fill("");
      await page.keyboard.press("Escape");
      await openPanel(page, "MCP");
      const panel = page.getByRole("complementary", { name: "MCP servers" });
      await panel.getByText("Add a server").click();
      await panel.getByRole("textbox", { name: "Name" }).fill("shop");
      await panel.getByRole("textbox", { name: "Command and arguments" }).fill(`python3 ${join(server.folder, "shop.py")}`);
      await panel.getByRole("button", { name: "Add and connect" }).click();
      await panel.getByRole("listitem").filter({ hasText: "shop" }).first().waitFor();
      await page.keyboard.press("Escape");
      await visitor.say("Order it");
      await allow(visitor);
      await page.getByRole("alertdialog", { name: "Request from shop" }).waitFor();
    },
  },
  {
    name: "trust",
    async reach(visitor) {
      const { page, server } = visitor;
      await prompt(visitor).getByRole("button", { name: "Decline" }).click();
      await ends(visitor, "It is ordered.");
      await page.goto(`${server.origin}/#/`);
      await openNewSession(page);
      const dialog = page.getByRole("dialog", { name: "New session" });
      await dialog.getByRole("combobox", { name: "Folder" }).or(dialog.getByRole("textbox", { name: "Folder" })).first().fill(join(server.folder, "theirs"));
      await dialog.getByRole("button", { name: "Start" }).click();
      await page.getByRole("dialog", { name: "Trust this folder?" }).waitFor();
    },
  },
  {
    name: "untrusted",
    async reach({ page }) {
      await page.getByRole("dialog").getByRole("button", { name: "Don’t trust" }).click();
      await page.getByText("Folder not trusted").waitFor();
    },
  },
  {
    name: "connection-lost",
    async reach(visitor) {
      await fresh(visitor);
      await visitor.say("Be slow again");
      await visitor.sees("takes its time");
      await visitor.server.kill();
      await visitor.page.getByText(/Connection lost/).waitFor();
    },
  },
  {
    name: "crashed",
    async reach(visitor) {
      await visitor.server.start();
      await visitor.page.getByText(/Connection lost/).waitFor({ state: "hidden" });
      await visitor.sees(/during this turn/);
    },
  },
  {
    name: "not-let-in",
    async reach({ page, context }) {
      await context.clearCookies();
      await page.reload();
      await page.getByText("This browser is not signed in").waitFor();
    },
  },
];
