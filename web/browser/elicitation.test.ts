// An MCP server asks the user: a form with required fields.

import { afterAll, beforeAll, test } from "vitest";

import { comeAndStart, openPanel } from "./at-panel";
import { after, on, use, words } from "./replies";
import { SHOP } from "./mcp-servers";
import { Server } from "./server";
import { part } from "./visitor";

let server: Server;
beforeAll(async () => {
  const ordered = { when: { tool_result: '"count": 2, "gift": true, "size": "L"' }, blocks: [words("Two large ones are ordered.")] };
  const replies = [on("Order it", words("I order it."), use("mcp__shop__order", {})), ordered, after("I order it.", words("Something else was ordered."))];
  server = await Server.start({ files: { "shop.py": SHOP }, script: { replies, afterwards: { blocks: [words("Here I am.")] } } });
});
afterAll(() => part(server));

test("a form has the server's fields, names missing ones and sends the answer", async () => {
  const visitor = await comeAndStart(server);
  const { page } = visitor;
  page.setDefaultTimeout(15_000);
  await visitor.say("hello");
  await visitor.sees("Here I am.");
  const panel = await openPanel(visitor, "MCP servers");
  await panel.getByText("Add a server").click();
  await panel.getByRole("textbox", { name: "Name" }).fill("shop");
  await panel.getByRole("textbox", { name: "Command and arguments" }).fill(`python3 ${server.folder}/shop.py`);
  await panel.getByRole("button", { name: "Add and connect" }).click();
  await panel.getByRole("listitem").filter({ hasText: "shop" }).first().waitFor();
  await page.keyboard.press("Escape");
  await visitor.say("Order it");
  await page.getByRole("alertdialog", { name: "shop › order?" }).getByRole("button", { name: "Allow once" }).click();
  const form = page.getByRole("alertdialog", { name: "Request from shop" });
  await form.getByText("Which one, please?").waitFor();
  await form.getByRole("button", { name: "Send" }).click();
  await form.getByText("How many is required").waitFor();
  await form.getByRole("combobox", { name: /size/ }).selectOption("Large");
  await form.getByRole("textbox", { name: /How many/ }).fill("20");
  await form.getByText("How many is out of range").waitFor();
  await form.getByRole("textbox", { name: /How many/ }).fill("2");
  await form.getByRole("checkbox", { name: "As a gift" }).waitFor();
  await form.getByRole("button", { name: "Send" }).click();
  await visitor.sees("Two large ones are ordered.");
  await visitor.leave();
});
