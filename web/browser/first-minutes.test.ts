// A newcomer's first minutes: from the printed link to a first approved change in a folder of their own, without reading documentation.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterEach, expect, test } from "vitest";

import { faultsOf } from "./at-panel";
import { KEY, MessagesApi } from "./messages-api";
import { Server } from "./server";
import { part, Visitor } from "./visitor";

let server: Server;
let ann: Visitor;
let api: MessagesApi | undefined;

afterEach(async () => {
  await part(server, ann);
  await api?.stop();
  api = undefined;
});

/** A server whose user has a project beside the folder in which it was started. */
async function come(): Promise<string> {
  server = new Server({ cli: "", env: { PATH: "/usr/bin:/bin" } });
  const shop = join(server.home, "work/shop");
  mkdirSync(shop, { recursive: true });
  writeFileSync(join(shop, "price.py"), "TAX = 0.19\n");
  server.settings.args = ["--root", join(server.home, "work")];
  await server.start();
  ann = await Visitor.come(server);
  ann.page.setDefaultTimeout(15_000);
  return shop;
}

/** Write a task on the start page, then choose the project for it. */
async function startIn(folder: string, task: string): Promise<void> {
  const { page } = ann;
  await page.getByRole("textbox", { name: "New task" }).fill(task);
  await page.getByRole("button", { name: "Folder: project" }).click();
  await page.getByRole("menuitemradio", { name: "work" }).waitFor();
  await page.getByRole("menuitemradio", { name: "Choose another folder…" }).click();
  const dialog = page.getByRole("dialog", { name: "New session" });
  expect(await dialog.getByRole("textbox", { name: "First message" }).inputValue()).toBe(task);
  await dialog.getByRole("textbox", { name: "Folder" }).fill(folder);
  expect(await faultsOf(page, "dialog")).toEqual([]);
  await dialog.getByRole("button", { name: "Start" }).click();
  await ann.sees(task);
}

const prompt = (title: string) => ann.page.getByRole("alertdialog", { name: title });

test("in Demo mode a newcomer approves a first change in their own folder", async () => {
  const shop = await come();
  await ann.page.getByText("Demo mode").first().waitFor();
  await startIn(shop, "Raise the tax to 21 %");
  await ann.sees("This is Demo mode");
  await ann.say("tour");
  await prompt("Run this command?").getByText("mkdir handrail-tour").first().waitFor();
  await prompt("Run this command?").getByRole("button", { name: "Allow once" }).click();
  await prompt("Write notes.txt?").getByRole("button", { name: "Allow once" }).click();
  await expect.poll(() => existsSync(join(shop, "handrail-tour/notes.txt"))).toBe(true);
  await ann.log.getByRole("button", { name: /^Created handrail-tour\/notes\.txt new file · \+2/ }).waitFor();
});

test("with a connected model a newcomer approves a first change of their own file", async () => {
  api = await MessagesApi.start("The tax is raised.", [
    { type: "tool_use", name: "Read", input: { file_path: "price.py" } },
    { type: "tool_use", name: "Edit", input: { file_path: "price.py", old_string: "0.19", new_string: "0.21" } },
  ]);
  const shop = await come();
  await ann.page.getByRole("button", { name: "Connect a model" }).click();
  const dialog = ann.page.getByRole("dialog", { name: "Connect a model" });
  await dialog.getByRole("radio", { name: /Compatible endpoint/ }).check();
  await dialog.getByRole("textbox", { name: "Endpoint URL" }).fill(api.url);
  await dialog.getByRole("textbox", { name: "Model name" }).fill("house-model");
  await dialog.getByLabel("API key (optional)").fill(KEY);
  await dialog.getByRole("button", { name: "Check and connect" }).click();
  await ann.page.getByText("New sessions use it.").waitFor();
  await startIn(shop, "Raise the tax to 21 %");
  await prompt("Edit price.py?").getByText("TAX = 0.21").waitFor();
  await prompt("Edit price.py?").getByRole("button", { name: "Allow once" }).click();
  await ann.sees("The tax is raised.");
  expect(readFileSync(join(shop, "price.py"), "utf8")).toBe("TAX = 0.21\n");
  await ann.log.getByRole("button", { name: /^Edited price\.py \+1 −1/ }).waitFor();
});
