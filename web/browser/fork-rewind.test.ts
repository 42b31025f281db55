// At a message: fork from it, put files back to what they were before it.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { openPanel } from "./at-panel";
import { after, on, use, words } from "./replies";
import { Server } from "./server";
import { part, TALL, Visitor } from "./visitor";

let server: Server;
let visitor: Visitor;

beforeAll(async () => {
  const replies = [
    on("Say hello", words("Hello there.")),
    on("Change the file", words("I change it."), use("Read", { file_path: "app.txt" })),
    after("I change it.", words("Now."), use("Edit", { file_path: "app.txt", old_string: "before", new_string: "after" })),
    after("Now.", words("It is changed.")),
    on("Remove the file", words("I remove it."), use("Bash", { command: "rm app.txt" })),
    after("I remove it.", words("Then it stays.")),
  ];
  server = await Server.start({ script: { replies, afterwards: { blocks: [words("Heard.")] } }, files: { "app.txt": "before\n" } });
  visitor = await Visitor.come(server, { size: TALL });
  visitor.page.setDefaultTimeout(15_000);
});
afterAll(() => part(server, visitor));

const file = () => readFileSync(join(server.folder, "app.txt"), "utf8");

const menuAt = async (words: string, item: string) => {
  const message = visitor.page.getByRole("article", { name: "You" }).filter({ hasText: words });
  await message.getByRole("button", { name: "Message actions" }).click();
  await visitor.page.getByRole("menuitem", { name: item }).click();
};

test("files are restored after a preview of the changes", async () => {
  await visitor.startSession();
  await visitor.say("Say hello");
  await visitor.sees("Hello there.");
  await visitor.say("Change the file");
  await visitor.page.getByRole("alertdialog", { name: "Edit app.txt?" }).getByRole("button", { name: "Allow once" }).click();
  await visitor.sees("It is changed.");
  expect(file()).toBe("after\n");
  await menuAt("Change the file", "Restore files to before this…");
  const dialog = visitor.page.getByRole("dialog", { name: "Restore files" });
  await dialog.getByText("1 file will be restored").waitFor();
  await dialog.getByText(/app\.txt/).waitFor();
  await dialog.getByRole("button", { name: "Restore" }).click();
  await visitor.page.getByText("1 file restored").waitFor();
  expect(file()).toBe("before\n");
  await visitor.sees("Restored 1 file to before “Change the file”: app.txt");
  const panel = await openPanel(visitor, "Changes");
  await panel.getByText("No files changed yet.").waitFor();
  await visitor.page.reload();
  await visitor.sees("Restored 1 file to before “Change the file”: app.txt");
});

test("a fork keeps denials, compaction marks, restored files, edits and the model", async () => {
  await visitor.say("Remove the file");
  await visitor.page.getByRole("alertdialog", { name: "Run this command?" }).getByRole("button", { name: "Deny", exact: true }).click();
  await visitor.sees("Then it stays.");
  await visitor.say("/compact");
  await visitor.sees(/Context compacted/);
  const model = await visitor.page.getByRole("button", { name: /^Model: / }).getAttribute("aria-label");
  const origin = visitor.page.url();
  await visitor.page.locator(".session-head").getByRole("button", { name: /^More actions for/ }).click();
  await visitor.page.getByRole("menuitem", { name: "Fork", exact: true }).click();
  await visitor.page.getByRole("link", { name: /^Forked from/ }).waitFor();
  await visitor.log.getByRole("button", { name: /^Run rm app\.txt *denied$/ }).waitFor();
  await visitor.sees("1 call denied in this turn");
  await visitor.sees(/Context compacted/);
  await visitor.sees("Restored 1 file to before “Change the file”: app.txt");
  await visitor.log.getByRole("button", { name: /^Edited app\.txt \+1 −1/ }).waitFor();
  expect(await visitor.page.getByRole("button", { name: /^Model: / }).getAttribute("aria-label")).toBe(model);
  await visitor.page.goto(origin);
  await visitor.sees("Then it stays.");
});

test("a fork is another session with the conversation up to the message", async () => {
  const origin = visitor.page.url();
  await menuAt("Say hello", "Fork from here");
  await visitor.page.waitForURL((url) => url.href !== origin);
  await visitor.sees("Say hello");
  expect(await visitor.log.getByText("It is changed.").count()).toBe(0);
});
