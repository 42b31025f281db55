// The pages for usage, devices and settings, and sessions of the terminal.

import { execFileSync } from "node:child_process";
import { resolve } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { faultsOf } from "./at-panel";
import { words } from "./replies";
import { Server } from "./server";
import { part, sharedBrowser, Visitor } from "./visitor";

let server: Server;
let ann: Visitor;
const AGENT = resolve(import.meta.dirname, "../../.venv/bin/handrail-agent");

beforeAll(async () => {
  const usage = { input_tokens: 1200, output_tokens: 340 };
  server = await Server.start({ script: { replies: [], afterwards: { blocks: [words("Counted.")], usage } } });
  ann = await Visitor.come(server);
});

afterAll(() => part(server, ann));

const to = (name: string) => ann.page.getByRole("navigation", { name: "Sessions" }).getByRole("button", { name, exact: true }).click();

test("without any use, the usage page says so", async () => {
  await to("Usage");
  await ann.page.getByText("No usage in this period").waitFor();
});

test("after a turn it shows cost and tokens as text, charts and tables", async () => {
  await ann.startSession();
  await ann.say("count this");
  await ann.sees("Counted.");
  await to("Usage");
  await ann.page.getByText(/in 30 days: 1 turn, [1-9][\d,]* tokens/).waitFor();
  await ann.page.getByRole("img", { name: /^Cost per day/ }).locator("canvas").waitFor();
  await ann.page.getByRole("region", { name: "Model", exact: true }).getByRole("rowheader").first().waitFor();
  await ann.page.getByRole("region", { name: "Project", exact: true }).getByRole("rowheader", { name: "project" }).waitFor();
  await ann.page.getByText("Table").click();
  await ann.page.getByRole("region", { name: "Day", exact: true }).getByRole("row").nth(1).waitFor();
  await ann.page.getByRole("button", { name: "7 days" }).click();
  await ann.page.getByText(/in 7 days: 1 turn/).waitFor();
  expect(await faultsOf(ann.page, "main")).toEqual([]);
});

test("a link logs another browser in with the chosen scopes only", async () => {
  await to("Devices");
  await ann.page.getByText("Only this machine can reach the server now.").waitFor();
  await ann.page.getByRole("note", { name: "Use your phone" }).getByText("handrail serve --phone").waitFor();
  await ann.page.getByRole("checkbox", { name: "Approve" }).uncheck();
  await ann.page.getByRole("checkbox", { name: "Prompt" }).uncheck();
  await ann.page.getByRole("button", { name: "Create link" }).click();
  await ann.page.getByRole("img", { name: "Link as a QR code" }).waitFor();
  const link = await ann.page.getByRole("textbox", { name: "Link for the other device" }).inputValue();
  const context = await (await sharedBrowser()).newContext();
  const bob = new Visitor(await context.newPage(), context, server);
  await bob.page.goto(link);
  await bob.page.getByText("This device can view sessions").waitFor();
  expect(await bob.page.getByRole("button", { name: "New session" }).first().isDisabled()).toBe(true);
  await bob.page.goto(`${server.origin}/#/devices`);
  await bob.page.getByText("it lacks the Administer scope").waitFor();
  await ann.page.reload();
  await expect.poll(() => ann.page.getByRole("button", { name: /^Revoke / }).count()).toBe(2);
  expect(await faultsOf(ann.page, "main")).toEqual([]);
  await revokeOther();
  await bob.page.getByText("This device was revoked").waitFor();
  await bob.leave();
});

async function revokeOther(): Promise<void> {
  await ann.page.getByRole("button", { name: /^Rename / }).last().click();
  await ann.page.getByRole("textbox", { name: "Device name" }).fill("Bob's browser");
  await ann.page.getByRole("button", { name: "Save" }).click();
  await ann.page.getByRole("button", { name: "Revoke Bob's browser" }).click();
  const asked = ann.page.getByRole("dialog", { name: "Revoke this device?" });
  await asked.getByText("is disconnected at once").waitFor();
  await asked.getByRole("button", { name: "Revoke" }).click();
  await ann.page.getByText("“Bob's browser” was revoked.").waitFor();
}

test("settings of the page and defaults for new sessions persist", async () => {
  await to("Settings");
  await ann.page.getByRole("combobox", { name: "Theme" }).selectOption("dark");
  await expect.poll(() => ann.page.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
  await ann.page.getByRole("radio", { name: /^Plan/ }).click();
  await ann.page.getByText("Changed to Plan").waitFor();
  expect(await faultsOf(ann.page, "main")).toEqual([]);
  await ann.page.reload();
  await expect.poll(() => ann.page.getByRole("radio", { name: /^Plan/ }).isChecked()).toBe(true);
  expect(await ann.page.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
});

test("one click continues a session started in a terminal", async () => {
  const env = { PATH: process.env["PATH"] ?? "", HOME: server.home, HANDRAIL_SCRIPT: `${server.home}/script.json` };
  execFileSync(AGENT, ["-p", "said in a terminal"], { cwd: server.folder, env });
  await ann.page.reload();
  const list = ann.page.getByRole("navigation", { name: "Sessions" });
  await list.getByRole("heading", { name: "In the terminal" }).waitFor();
  await list.getByRole("button", { name: /said in a terminal/ }).click();
  await ann.composer.waitFor();
  await ann.sees("said in a terminal");
  await list.getByRole("heading", { name: "In the terminal" }).waitFor({ state: "detached" });
  await ann.say("and go on");
  await expect.poll(() => ann.log.locator(".rows").getByText("Counted.").count()).toBe(2);
});
