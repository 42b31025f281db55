// Resources and prompts of a real MCP server, where the user writes. Needs a server that lists `resources` in `file_suggestions` and MCP prompts
// in `about.commands`.

import { afterAll, beforeAll, expect, test } from "vitest";

import { comeAndStart, openPanel } from "./at-panel";
import { LIBRARY } from "./mcp-servers";
import { Server } from "./server";
import { part, type Visitor } from "./visitor";

let server: Server;
let visitor: Visitor;

beforeAll(async () => {
  server = await Server.start({ files: { "library.py": LIBRARY }, script: { replies: [], afterwards: { blocks: [{ type: "text", text: "Here I am." }] } } });
  visitor = await comeAndStart(server);
  await visitor.say("hello");
  await visitor.sees("Here I am.");
  const panel = await openPanel(visitor, "MCP servers");
  await panel.getByText("Add a server").click();
  await panel.getByRole("textbox", { name: "Name" }).fill("library");
  await panel.getByRole("textbox", { name: /^Command/ }).fill(`python3 ${server.folder}/library.py`);
  await panel.getByRole("button", { name: "Add and connect" }).click();
  await panel.getByText("connected", { exact: true }).waitFor();
  await visitor.page.keyboard.press("Escape");
});
afterAll(() => part(server, visitor));

test("an at sign lists resources of MCP servers", async () => {
  await visitor.composer.fill("");
  await visitor.composer.pressSequentially("read @sev");
  await visitor.page.getByRole("option", { name: /The seventh book/ }).filter({ hasText: "MCP resource · library" }).click();
  expect(await visitor.composer.inputValue()).toBe("read @library:book://7 ");
});

test("a slash lists prompts of MCP servers", async () => {
  await visitor.composer.fill("");
  await visitor.composer.pressSequentially("/recomm");
  await visitor.page.getByRole("option", { name: /\/mcp__library__recommend/ }).filter({ hasText: "MCP prompt · library" }).waitFor();
  await visitor.composer.press("Tab");
  expect(await visitor.composer.inputValue()).toBe("/mcp__library__recommend ");
});
