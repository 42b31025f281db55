// MCP servers: a real one on stdio that is added by hand, seen with its tools, switched off and on, connected again; and one that fails.

import { afterAll, beforeAll, expect, test } from "vitest";

import { comeAndStart, faultsOf, openPanel, picture } from "./at-panel";
import { weather } from "./mcp-servers";
import { Server } from "./server";
import { part } from "./visitor";

const SOURCE = weather({ name: "forecast", description: "What the weather will be" }, [{ type: "text", text: "Rain." }]);

let server: Server;
beforeAll(async () => {
  server = await Server.start({ files: { "weather server.py": SOURCE }, script: { replies: [], afterwards: { blocks: [{ type: "text", text: "Here I am." }] } } });
});
afterAll(() => part(server));

test("a server is added, listed with its tools, disabled, enabled and reconnected", async () => {
  const visitor = await comeAndStart(server);
  const { page } = visitor;
  await visitor.say("hello");
  await visitor.sees("Here I am.");
  const panel = await openPanel(visitor, "MCP servers");
  await panel.getByText(/^No MCP servers/).waitFor();
  await panel.getByText("Add a server").click();
  await panel.getByText(/is a program that runs on this machine with your permissions/).waitFor();
  await panel.getByRole("textbox", { name: "Name" }).fill("wea ther");
  await panel.getByRole("textbox", { name: "Command and arguments" }).fill(`python3 "${server.folder}/weather server.py"`);
  await panel.getByRole("button", { name: "Add and connect" }).click();
  await panel.getByRole("alert").getByText("Use letters, digits, - and _").waitFor();
  await panel.getByRole("textbox", { name: "Name" }).fill("weather");
  await panel.getByRole("button", { name: "Add and connect" }).click();
  const entry = panel.getByRole("listitem").filter({ has: page.getByText("weather", { exact: true }) }).first();
  await entry.getByText("connected", { exact: true }).waitFor();
  await entry.getByText("1 tool", { exact: true }).click();
  await entry.getByText("What the weather will be").waitFor();
  await picture(visitor, "mcp");
  expect(await faultsOf(page, "aside")).toEqual([]);
  await entry.getByRole("button", { name: "Disable: weather" }).click();
  await entry.getByText("disabled").waitFor();
  await entry.getByRole("button", { name: "Enable: weather" }).click();
  await entry.getByText("connected", { exact: true }).waitFor();
  await entry.getByRole("button", { name: "Reconnect: weather" }).click();
  await entry.getByText("connected", { exact: true }).waitFor();

  await panel.getByRole("textbox", { name: "Name" }).fill("broken");
  await panel.getByRole("textbox", { name: "Command and arguments" }).fill("/no/such/program");
  await panel.getByRole("button", { name: "Add and connect" }).click();
  const broken = panel.getByRole("listitem").filter({ has: page.getByText("broken", { exact: true }) }).first();
  await broken.getByText("failed", { exact: true }).waitFor();
  await broken.getByText(/no such/i).waitFor();
  await picture(visitor, "mcp-broken");
  await entry.getByText("connected", { exact: true }).waitFor(); // the first one stays
  await visitor.leave();
});
