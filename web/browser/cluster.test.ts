// Sessions on several machines: where each runs, lost machines, NATS offline, and choosing a machine.

import { afterAll, beforeAll, expect, test } from "vitest";

import { faultsOf, picture } from "./at-panel";
import { Machines } from "./machines";
import { on, words } from "./replies";
import { Server } from "./server";
import { begin } from "./session";
import { part, PHONE, Visitor } from "./visitor";

let server: Server;
let ann: Visitor;
let machines: Machines;
let session = "";

beforeAll(async () => {
  server = await Server.start({ script: { replies: [on("begin", words("It works and works."), { type: "hang" })] } });
  ann = await Visitor.come(server);
  ann.page.setDefaultTimeout(10_000);
  machines = await Machines.between(ann);
});

afterAll(() => part(server, ann));

const list = () => ann.page.getByRole("navigation", { name: "Sessions" });
const head = () => ann.page.locator(".session-head");

test("the list and the header name the machine of a session", async () => {
  session = await begin(ann);
  await ann.say("begin");
  await ann.sees("It works and works.");
  await head().getByText("Runs on worker-1").waitFor();
  await list().getByRole("link", { name: /Runs on worker-1/ }).waitFor();
  expect(await faultsOf(ann.page, "body")).toEqual([]);
  await picture(ann, "machines-running");
});

test("a session of a lost machine says so, shows nothing as running and needs attention", async () => {
  machines.gone.add(session);
  machines.nodes = machines.nodes.filter((one) => one["name"] !== "worker-1");
  machines.tellAgain();
  await head().getByRole("alert").getByText("worker-1 is lost. The running turn was not finished and is not retried automatically.").waitFor();
  await list().getByRole("heading", { name: "Needs you" }).waitFor();
  await list().getByRole("link", { name: /interrupted/ }).waitFor();
  await expect.poll(() => ann.page.title()).toBe("(1) begin · Handrail");
  await expect.poll(() => ann.page.getByRole("button", { name: "Stop" }).count()).toBe(0);
  expect(await faultsOf(ann.page, "body")).toEqual([]);
  await picture(ann, "machines-gone");
});

test("one click resumes it on another machine", async () => {
  await head().getByRole("button", { name: "Resume on another machine" }).click();
  await ann.page.getByText("Resumed on worker-2.").waitFor();
  await head().getByText(/worker-1 has gone/).waitFor({ state: "detached" });
  await head().getByText(/worker-2/).waitFor();
});

test("the settings list machines and NATS streams, with warnings above them", async () => {
  await list().getByRole("button", { name: "Settings", exact: true }).click();
  const table = ann.page.getByRole("region", { name: "All machines" });
  await table.getByRole("rowheader", { name: /worker-2/ }).waitFor();
  await table.getByRole("row", { name: /worker-3/ }).getByText("8 of 8").waitFor();
  await ann.page.getByRole("region", { name: "NATS streams" }).getByRole("row", { name: /handrail-events/ }).getByText("48 MiB").waitFor();
  machines.alarms = ["worker-1 was last heard of a minute ago"];
  await ann.page.getByRole("alert").getByText("worker-1 was last heard of a minute ago").waitFor(); // it is read again while one looks
  expect(await faultsOf(ann.page, "main")).toEqual([]);
  await picture(ann, "machines-settings");
  machines.alarms = [];
});

test("a new session runs on the chosen machine: by name, by labels, or where the folder is", async () => {
  await ann.page.getByRole("button", { name: "New session" }).first().click();
  const dialog = ann.page.getByRole("dialog", { name: "New session" });
  const where = dialog.getByRole("combobox", { name: "Run on" });
  await dialog.getByText("Matches worker-2.").waitFor();
  expect(await where.locator("option:disabled").allTextContents()).toEqual(["worker-3: full"]);
  await where.selectOption("Any machine with labels");
  await dialog.getByRole("checkbox", { name: "gpu" }).check();
  expect(await faultsOf(ann.page, "dialog")).toEqual([]);
  await picture(ann, "machines-new-session");
  await where.selectOption("worker-2");
  await dialog.getByRole("button", { name: "Start" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(machines.started.at(-1)).toEqual({ runner: "worker-2", labels: undefined });
});

test("while NATS is offline a banner says what still works, and disappears on reconnect", async () => {
  machines.up = false;
  await ann.page.reload();
  await ann.page.getByText(/NATS does not respond\. Sessions show their last known state/).waitFor();
  expect(await faultsOf(ann.page, "body")).toEqual([]);
  await picture(ann, "machines-away");
  machines.up = true;
  await ann.page.getByRole("button", { name: "New session" }).first().click(); // opening it reads the machines
  await ann.page.getByText(/NATS does not respond/).waitFor({ state: "detached" });
  await ann.page.keyboard.press("Escape");
});

test("dark and phone layouts show all of it, and nothing overflows", async () => {
  machines.gone.add(session);
  machines.up = false;
  await ann.page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
  await ann.page.setViewportSize(PHONE);
  for (const [name, place] of [["session", `#/session/${session}`], ["settings", "#/settings"]] as const) {
    await ann.page.goto(`${server.origin}/${place}`);
    await ann.page.reload();
    await ann.page.getByText(/NATS does not respond/).first().waitFor();
    if (name === "session") await head().getByRole("button", { name: "Resume on another machine" }).waitFor();
    expect(await ann.page.evaluate(() => document.documentElement.scrollWidth), place).toBeLessThanOrEqual(PHONE.width);
    expect(await faultsOf(ann.page, "body"), place).toEqual([]);
    await picture(ann, `machines-phone-${name}`);
  }
});

test("a single machine is never mentioned", async () => {
  const bob = await Visitor.come(server);
  await bob.page.goto(`${server.origin}/#/session/${session}`);
  await bob.composer.waitFor();
  expect(await bob.page.locator(".machine-chip").count()).toBe(0);
  await bob.page.getByRole("button", { name: "New session" }).first().click();
  await bob.page.getByRole("dialog", { name: "New session" }).waitFor();
  expect(await bob.page.getByText("Run on").count()).toBe(0);
  await bob.page.keyboard.press("Escape");
  await bob.page.goto(`${server.origin}/#/settings`);
  await bob.page.getByRole("heading", { name: "Appearance" }).waitFor();
  expect(await bob.page.getByRole("heading", { name: "Machines" }).count()).toBe(0);
  await bob.leave();
});
