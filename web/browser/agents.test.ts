// Other agents: a person adds one, chooses it for a session on the start page and in the dialog, and sees which one answers.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { faultsOf } from "./at-panel";
import { Server } from "./server";
import { part, Visitor } from "./visitor";

const BIN = resolve(import.meta.dirname, "../../.venv/bin");
const AGENT = resolve(import.meta.dirname, "../../src/handrail/testing/scripted_acp_agent.py");
const chunk = (text: string) => ({ update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } } });
const SCRIPT = {
  initialize: { agentInfo: { name: "robin", title: "Robin", version: "1.0" }, agentCapabilities: { loadSession: true, promptCapabilities: { image: true } } },
  prompts: { "who are you?": [chunk("Robin answers.")], "still you?": [chunk("Still Robin.")], "and in the dialog?": [chunk("Robin again.")] },
};

let server: Server;
let ann: Visitor;

beforeAll(async () => {
  server = new Server();
  const script = join(server.home, "agent.json");
  writeFileSync(script, JSON.stringify(SCRIPT));
  execFileSync(join(BIN, "handrail"), ["agents", "add", "robin", "--", join(BIN, "python"), AGENT, script], { env: { PATH: process.env["PATH"] ?? "", HOME: server.home } });
  await server.start();
  ann = await Visitor.come(server);
});

afterAll(() => part(server, ann));

const chip = () => ann.page.locator(".session-head .agent-chip");

test("an agent is chosen on the start page, and the session names it", async () => {
  await ann.page.getByRole("textbox", { name: "New task" }).fill("who are you?");
  await ann.page.getByRole("button", { name: /^Agent: handrail-agent/ }).click();
  await ann.page.getByRole("menuitemradio", { name: /^robin/ }).click();
  await ann.page.getByRole("button", { name: "Agent: Robin" }).waitFor();
  expect(await faultsOf(ann.page, "body")).toEqual([]);
  await ann.page.getByRole("button", { name: "Start session" }).click();
  await ann.sees("Robin answers.");
  expect(await chip().textContent()).toContain("robin");
  await ann.page.getByRole("navigation", { name: "Sessions" }).locator(".agent-chip").getByText("robin").waitFor();
});

test("the agent answers again after a restart of the server", async () => {
  await server.kill();
  await server.start();
  await ann.composer.fill("still you?");
  await ann.composer.press("Enter");
  await ann.sees("Still Robin.");
  expect(await chip().textContent()).toContain("robin");
});

test("the dialog tells what the agent can do, and leaves out what it cannot be told", async () => {
  await ann.page.getByRole("button", { name: "New session" }).first().click();
  const dialog = ann.page.getByRole("dialog", { name: "New session" });
  await dialog.getByRole("combobox", { name: /^Agent/ }).selectOption("robin");
  await dialog.getByText("Supports images, resume").waitFor();
  await dialog.getByText("Options").click();
  expect(await dialog.getByRole("combobox", { name: "Effort" }).count()).toBe(0);
  expect(await faultsOf(ann.page, "dialog")).toEqual([]);
  await dialog.getByRole("textbox", { name: "First message" }).fill("and in the dialog?");
  await dialog.getByRole("button", { name: "Start" }).click();
  await ann.sees("Robin again.");
});
