// A server of the session asks the user: a form is filled in, and what is missing is told.

import { afterAll, beforeAll, test } from "vitest";

import { comeAndStart, openPanel } from "./at-panel";
import { after, on, use, words } from "./replies";
import { Server } from "./server";
import { closeBrowser } from "./visitor";

const SHOP = `
import json, sys
def say(**fields): print(json.dumps({"jsonrpc": "2.0", **fields}), flush=True)
SCHEMA = {"type": "object", "required": ["size", "count"], "properties": {"size": {"type": "string", "enum": ["S", "L"], "enumNames": ["Small", "Large"]}, "count": {"type": "integer", "title": "How many", "minimum": 1, "maximum": 9}, "gift": {"type": "boolean", "title": "As a gift", "default": True}}}
for line in sys.stdin:
    request = json.loads(line)
    method = request.get("method")
    if method == "initialize":
        say(id=request["id"], result={"protocolVersion": request["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "shop", "version": "1"}})
    elif method == "tools/list":
        say(id=request["id"], result={"tools": [{"name": "order", "description": "Order an item", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        say(id="question", method="elicitation/create", params={"message": "Which one, please?", "requestedSchema": SCHEMA})
        answer = json.loads(sys.stdin.readline())["result"]
        say(id=request["id"], result={"content": [{"type": "text", "text": answer["action"] + " " + json.dumps(answer.get("content"), sort_keys=True)}]})
`;

let server: Server;
beforeAll(async () => {
  const ordered = { when: { tool_result: '"count": 2, "gift": true, "size": "L"' }, blocks: [words("Two large ones are ordered.")] };
  const replies = [on("Order it", words("I order it."), use("mcp__shop__order", {})), ordered, after("I order it.", words("Something else was ordered."))];
  server = await Server.start({ files: { "shop.py": SHOP }, script: { replies, afterwards: { blocks: [words("Here I am.")] } } });
});
afterAll(async () => {
  await closeBrowser();
  await server.stop();
});

test("a form has the server's fields, tells what is missing, and gives the answer", async () => {
  const visitor = await comeAndStart(server);
  const { page } = visitor;
  page.setDefaultTimeout(15_000);
  await visitor.say("hello");
  await visitor.sees("Here I am.");
  const panel = await openPanel(visitor, "MCP servers");
  await panel.getByText("Add a server").click();
  await panel.getByRole("textbox", { name: "Name" }).fill("shop");
  await panel.getByRole("textbox", { name: "Command with its arguments" }).fill(`python3 ${server.folder}/shop.py`);
  await panel.getByRole("button", { name: "Add and connect" }).click();
  await panel.getByRole("listitem").filter({ hasText: "shop" }).first().waitFor();
  await page.keyboard.press("Escape");
  await visitor.say("Order it");
  await page.getByRole("alertdialog", { name: "shop › order?" }).getByRole("button", { name: "Yes, once" }).click();
  const form = page.getByRole("alertdialog", { name: "shop asks you" });
  await form.getByText("Which one, please?").waitFor();
  await form.getByRole("button", { name: "Send" }).click();
  await form.getByText("How many is needed").waitFor();
  await form.getByRole("combobox", { name: /size/ }).selectOption("Large");
  await form.getByRole("textbox", { name: /How many/ }).fill("20");
  await form.getByText("How many is out of range").waitFor();
  await form.getByRole("textbox", { name: /How many/ }).fill("2");
  await form.getByRole("checkbox", { name: "As a gift" }).waitFor();
  await form.getByRole("button", { name: "Send" }).click();
  await visitor.sees("Two large ones are ordered.");
  await visitor.leave();
});
