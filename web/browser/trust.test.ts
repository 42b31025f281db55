// A folder with its own settings: the page lists what they would run, and runs nothing until the user agrees.

import { afterAll, beforeAll, expect, test } from "vitest";

import { faultsOf } from "./at-panel";
import { Server } from "./server";
import { part, Visitor } from "./visitor";

let server: Server;
let ann: Visitor;

beforeAll(async () => {
  const settings = { hooks: { Stop: [{ hooks: [{ type: "command", command: "echo \u202Egnp.exe" }] }] }, env: { SHOP: "open" }, permissions: { allow: ["Bash(make:*)"] } };
  server = await Server.start({ files: { ".claude/settings.json": JSON.stringify(settings, null, 2) } });
  ann = await Visitor.come(server);
});

afterAll(() => part(server, ann));

const asked = () => ann.page.getByRole("dialog", { name: "Trust this folder?" });
const startSession = async () => {
  await ann.page.getByRole("button", { name: "New session" }).first().click();
  await ann.page.getByRole("dialog", { name: "New session" }).getByRole("button", { name: "Start" }).click();
};

test("the page lists what the files of the folder would run, and spells out disguised characters", async () => {
  await startSession();
  await asked().getByText("Hook: runs a command automatically").waitFor();
  await asked().getByText("⟨U+202E⟩").waitFor();
  await asked().getByText("Environment variable").waitFor();
  await asked().getByText("Bash(make:*)").first().waitFor();
  await asked().getByText("settings.json, line").first().waitFor();
  expect(await faultsOf(ann.page, "dialog")).toEqual([]);
});

test("without them the session works, and its header says so", async () => {
  await asked().getByRole("button", { name: "Don’t trust" }).click();
  await asked().waitFor({ state: "detached" });
  await ann.composer.waitFor();
  await ann.page.getByText("Folder not trusted").waitFor();
  await ann.say("hello");
  await ann.sees("This is Demo mode");
});

test("the list can be opened again, and accepted", async () => {
  await ann.page.getByRole("button", { name: "Review" }).click();
  await asked().getByRole("button", { name: "Trust folder" }).click();
  await ann.page.getByText("Folder not trusted").waitFor({ state: "detached" });
});

test("changed files are asked about again", async () => {
  server.write(".claude/settings.json", JSON.stringify({ env: { SHOP: "closed" } }));
  await startSession();
  await asked().getByText("closed").waitFor();
  await asked().getByRole("button", { name: "Don’t trust" }).click();
});
