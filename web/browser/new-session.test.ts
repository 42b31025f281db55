// A new session with everything that may be chosen for it; the welcome; the tour.

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { faultsOf } from "./at-panel";
import { Server } from "./server";
import { part, Visitor } from "./visitor";

let server: Server;
let ann: Visitor;

beforeAll(async () => {
  server = await Server.start({ files: { "inner/deep/file.txt": "x", "README.md": "A project" } });
  mkdirSync(join(server.folder, "other"));
  ann = await Visitor.come(server);
});

afterAll(() => part(server, ann));

const dialog = () => ann.page.getByRole("dialog", { name: "New session" });

test("a newcomer reads what this is and which model answers, and one click starts the tour", async () => {
  await ann.page.getByRole("heading", { name: "What do you want to work on?" }).waitFor();
  await ann.page.getByText("Demo mode").first().waitFor();
  await expect.poll(() => ann.page.getByRole("textbox", { name: "New task" }).evaluate((field) => field === document.activeElement)).toBe(true);
  expect(await faultsOf(ann.page, "body")).toEqual([]);
  await ann.page.getByRole("button", { name: "Start the tour" }).click();
  await ann.composer.waitFor();
  await ann.sees("tour");
  await ann.page.getByRole("navigation", { name: "Sessions" }).getByRole("link", { name: /^tour/ }).waitFor();
});

test("the likeliest folder is filled in, and others can be browsed", async () => {
  await ann.page.getByRole("button", { name: "New session" }).first().click();
  const field = dialog().getByRole("textbox", { name: "Folder" });
  await expect.poll(() => field.inputValue()).toBe(server.folder);
  await dialog().getByRole("button", { name: "Choose…" }).click();
  await dialog().getByRole("button", { name: "inner", exact: true }).click();
  await dialog().getByRole("button", { name: "deep", exact: true }).click();
  await expect.poll(() => field.inputValue()).toBe(join(server.folder, "inner/deep"));
  await dialog().getByText("No subfolders").waitFor();
  await dialog().getByRole("button", { name: "Up to inner" }).click();
  await expect.poll(() => field.inputValue()).toBe(join(server.folder, "inner"));
});

test("a session starts with all chosen options", async () => {
  await dialog().getByText("Options").click();
  await dialog().getByRole("radio", { name: /^Plan/ }).check();
  await dialog().getByRole("combobox", { name: "Effort" }).selectOption("high");
  await dialog().getByRole("textbox", { name: "Additional folders" }).fill(join(server.folder, "other"));
  await dialog().getByRole("textbox", { name: "First message" }).fill("say hello");
  expect(await faultsOf(ann.page, "dialog")).toEqual([]);
  await dialog().getByRole("button", { name: "Start" }).click();
  await ann.composer.waitFor();
  await ann.sees("say hello");
  const head = ann.page.getByRole("main").getByRole("banner").or(ann.page.locator(".session-head"));
  await head.getByText("inner").first().waitFor();
  await ann.page.getByRole("main").getByText("Plan", { exact: true }).first().waitFor();
});

test("a forbidden folder disables Start, names --root, and keeps the typed text", async () => {
  await ann.page.getByRole("button", { name: "New session" }).first().click();
  await dialog().getByRole("textbox", { name: "Folder" }).fill("/etc");
  await dialog().getByRole("textbox", { name: "First message" }).fill("keep this");
  await dialog().getByText("/etc is not below one of the server's roots; to allow it, start the server with --root /etc").waitFor();
  expect(await dialog().getByRole("button", { name: "Start" }).isDisabled()).toBe(true);
  await dialog().getByRole("textbox", { name: "Folder" }).fill(join(server.folder, "missing"));
  await dialog().getByText("missing is not a folder; create it, or choose another").waitFor();
  expect(await dialog().getByRole("button", { name: "Start" }).isDisabled()).toBe(true);
  await dialog().getByRole("textbox", { name: "Folder" }).fill(server.folder);
  await expect.poll(() => dialog().getByRole("button", { name: "Start" }).isEnabled()).toBe(true);
  expect(await dialog().getByRole("textbox", { name: "First message" }).inputValue()).toBe("keep this");
  await ann.page.keyboard.press("Escape");
  await dialog().waitFor({ state: "detached" });
});

test("recent folders are one click away", async () => {
  await ann.page.getByRole("button", { name: "New session" }).first().click();
  await dialog().getByRole("list", { name: "Recent folders" }).getByRole("button", { name: "project" }).click();
  expect(await dialog().getByRole("textbox", { name: "Folder" }).inputValue()).toBe(server.folder);
  await ann.page.keyboard.press("Escape");
});

test("the start page starts a session with the chosen folder and mode", async () => {
  await ann.page.goto(`${server.origin}/#/`);
  const task = ann.page.getByRole("textbox", { name: "New task" });
  await task.fill("Say hello from the start page");
  await ann.page.getByRole("button", { name: "Folder: inner" }).click(); // the folder that was used last
  await ann.page.getByRole("menuitemradio", { name: /^project/ }).click();
  await ann.page.getByRole("button", { name: "Folder: project" }).waitFor();
  await ann.page.getByRole("button", { name: /^Permission mode: / }).click();
  await ann.page.getByRole("menuitemradio", { name: /^Plan/ }).click();
  await task.press("Enter");
  await ann.sees("Say hello from the start page");
  await ann.page.locator(".session-head").getByText("project").first().waitFor();
  await ann.page.getByRole("button", { name: /mode: Plan/ }).waitFor();
  await ann.page.goto(`${server.origin}/#/`);
  expect(await task.inputValue()).toBe("");
});

test("a task sent before the server has named its folders starts once they arrive", async () => {
  const asked = /\/api\/(folders|sessions\?.*)$/; // a known session would suggest its folder
  const ben = await ann.tab();
  await ben.page.route(asked, () => {}); // held until the route is removed
  await ben.page.goto(`${server.origin}/`);
  await ben.page.reload();
  const task = ben.page.getByRole("textbox", { name: "New task" });
  await task.fill("say hello early");
  await task.press("Enter");
  await ben.page.getByRole("button", { name: "Starting…" }).waitFor();
  await ben.page.unroute(asked);
  await ben.sees("say hello early");
  await ben.page.close();
});
