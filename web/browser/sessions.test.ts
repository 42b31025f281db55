// The list of sessions and a session's head, as a person uses them.

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { faultsOf } from "./at-panel";
import { on, use, words } from "./replies";
import { Server } from "./server";
import { part, Visitor } from "./visitor";

let server: Server;
let ann: Visitor;

beforeAll(async () => {
  server = await Server.start({
    script: {
      replies: [on("needs an answer", use("Bash", { command: "touch made-by-test", description: "Makes a file" })), on("works long", words("I begin"), { type: "hang" })],
      afterwards: { blocks: [words("Fine.")] },
    },
  });
  ann = await Visitor.come(server);
});

afterAll(() => part(server, ann));

const list = () => ann.page.getByRole("navigation", { name: "Sessions" });
const line = (title: string | RegExp) => list().getByRole("listitem").filter({ hasText: title });

async function begin(words: string): Promise<void> {
  await ann.startSession();
  await ann.say(words);
}

async function choose(title: string, action: string): Promise<void> {
  await line(title).hover();
  await list().getByRole("button", { name: `More actions for ${title}` }).click();
  await ann.page.getByRole("menuitem", { name: action, exact: true }).click();
}

test("sessions are grouped by state: those that need you first, with the number of questions", async () => {
  await begin("is idle soon");
  await ann.sees("Fine.");
  await begin("works long");
  await ann.sees("I begin");
  await begin("needs an answer");
  await line("needs an answer").getByText("1 question").waitFor();
  const headings = list().getByRole("heading");
  await expect.poll(() => headings.allTextContents()).toEqual(["Needs you", "Working", "Idle"]);
  await line("needs an answer").getByText("needs you", { exact: true }).waitFor();
  await line("works long").getByText("working").waitFor();
  expect(await ann.page.title()).toContain("(1)");
});

test("arrows move from line to line, and Enter opens", async () => {
  await line("needs an answer").getByRole("link").focus();
  await ann.page.keyboard.press("ArrowDown");
  await expect.poll(() => ann.page.evaluate(() => document.activeElement?.textContent)).toContain("works long");
  await ann.page.keyboard.press("End");
  await expect.poll(() => ann.page.evaluate(() => document.activeElement?.textContent)).toContain("is idle soon");
  await ann.page.keyboard.press("Enter");
  await ann.page.getByRole("heading", { level: 1, name: "is idle soon" }).waitFor();
});

test("a right click opens the menu of a line, and Escape closes it and restores the focus", async () => {
  await line("works long").getByRole("link").click({ button: "right" });
  await ann.page.getByRole("menuitem", { name: "Archive" }).waitFor();
  await ann.page.keyboard.press("ArrowDown");
  await expect.poll(() => ann.page.evaluate(() => document.activeElement?.textContent)).toContain("Fork");
  await ann.page.keyboard.press("Escape");
  await ann.page.getByRole("menu").waitFor({ state: "detached" });
  expect(await ann.page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe("More actions for works long");
});

test("a session is renamed in the list and in its header", async () => {
  await choose("is idle soon", "Rename");
  const field = ann.page.getByRole("textbox", { name: "Session title" });
  await field.fill("Named in the list");
  await field.press("Enter");
  await ann.page.getByRole("heading", { level: 1, name: "Named in the list" }).waitFor();
  await ann.page.getByRole("button", { name: "Rename session" }).click();
  await field.fill("Thrown away");
  await field.press("Escape");
  await ann.page.getByRole("heading", { level: 1, name: "Named in the list" }).waitFor();
  await ann.page.getByRole("button", { name: "Rename session" }).click();
  await field.fill("Named in the head");
  await field.press("Enter");
  await line("Named in the head").waitFor();
});

test("the conversation can be saved as Markdown and as JSON", async () => {
  for (const [action, part] of [["Export as Markdown", "is idle soon"], ["Export as JSON", '"events"']] as const) {
    const saving = ann.page.waitForEvent("download");
    await choose("Named in the head", action);
    const saved = await saving;
    expect(readFileSync(await saved.path(), "utf8")).toContain(part);
  }
});

test("an archived session leaves the list, and can be found and restored", async () => {
  await choose("Named in the head", "Archive");
  await line("Named in the head").waitFor({ state: "detached" });
  await list().getByRole("button", { name: "Show archived" }).click();
  await line("Named in the head").getByText("archived").waitFor();
  await choose("Named in the head", "Unarchive");
  await line("Named in the head").getByText(/idle|asleep/).waitFor();
  await list().getByRole("button", { name: "Hide archived" }).click();
});

test("the next message after Stop process starts a new process", async () => {
  await line("Named in the head").getByRole("link").click();
  await ann.say("once more");
  await expect.poll(() => ann.log.locator(".rows").getByText("Fine.").count()).toBe(2);
  await choose("Named in the head", "Stop process");
  await line("Named in the head").getByText("asleep").waitFor();
  await ann.say("and again");
  await expect.poll(() => ann.log.locator(".rows").getByText("Fine.").count()).toBe(3);
});

test("a session is deleted only after a confirmation that names what is deleted", async () => {
  await choose("Named in the head", "Delete…");
  const asked = ann.page.getByRole("dialog", { name: "Delete session" });
  await asked.getByText("Delete this session and its history from Handrail?").waitFor();
  expect(await asked.getByRole("checkbox").count()).toBe(0); // the embedded agent's transcript is deleted too
  await asked.getByRole("button", { name: "Cancel" }).click();
  await line("Named in the head").waitFor();
  await choose("Named in the head", "Delete…");
  await asked.getByRole("button", { name: "Delete session" }).click();
  await line("Named in the head").waitFor({ state: "detached" });
  await ann.page.getByRole("heading", { name: "What do you want to work on?" }).waitFor();
});

test("a missing session says so, and links to the list", async () => {
  await ann.page.goto(`${server.origin}/#/session/00000000-0000-4000-8000-000000000000`);
  await ann.page.getByRole("heading", { name: "Session not found" }).waitFor();
  await ann.page.getByRole("button", { name: "Go to the start page" }).click();
  await ann.page.getByRole("heading", { name: "What do you want to work on?" }).waitFor();
});

test("grants that ended with a process are listed, and restored by a click", async () => {
  await line("needs an answer").getByRole("link").click();
  await ann.page.getByRole("alertdialog").getByRole("button", { name: /session/i }).first().click();
  await line("needs an answer").getByText("idle").waitFor();
  await choose("needs an answer", "Stop process");
  await line("needs an answer").getByText("asleep").waitFor();
  await ann.say("go on");
  await ann.sees("Fine.");
  const head = ann.page.getByRole("main");
  await head.getByText(/Permissions that expired with the process: .*touch/).waitFor();
  await head.getByRole("button", { name: "Allow again" }).click();
  await head.getByText(/Permissions that ended/).waitFor({ state: "detached" });
});

test("a session that cannot continue says why, and continues after the fix", async () => {
  server.write("fleeting/file.txt", "x");
  await ann.page.getByRole("button", { name: "New session" }).first().click();
  const dialog = ann.page.getByRole("dialog", { name: "New session" });
  await dialog.getByRole("textbox", { name: "Folder" }).fill(join(server.folder, "fleeting"));
  await dialog.getByRole("textbox", { name: "First message" }).fill("stays a while");
  await dialog.getByRole("button", { name: "Start" }).click();
  await dialog.waitFor({ state: "detached" });
  await ann.sees("Fine.");
  await choose("stays a while", "Stop process");
  await line("stays a while").getByText("asleep").waitFor();
  rmSync(join(server.folder, "fleeting"), { recursive: true });
  await ann.say("go on");
  await ann.page.getByRole("main").getByText(/The session could not continue: /).waitFor();
  await list().getByRole("heading", { name: "Failed" }).waitFor();
  server.write("fleeting/file.txt", "x");
  await ann.page.getByRole("button", { name: "Try again" }).click();
  await ann.page.getByRole("main").getByText(/The session could not continue: /).waitFor({ state: "detached" });
});

test("list and header pass axe", async () => {
  expect(await faultsOf(ann.page, "nav")).toEqual([]);
  expect(await faultsOf(ann.page, ".session-head")).toEqual([]);
});

test("of a thousand sessions only the visible ones are drawn, and End selects the last", async () => {
  const many = Array.from({ length: 1000 }, (_, at) => ({
    id: `fake-${at}`,
    cwd: `/work/shop-${at % 7}`,
    created: at,
    changed: 1_000_000 - at,
    title: `Session number ${at}`,
    state: "hibernated",
    archived: false,
    trusted: true,
    questions: 0,
    lapsed: [],
  }));
  await ann.page.route(/\/api\/sessions\?/, (route) => route.fulfill({ json: { sessions: many, terminal: [] } }));
  await ann.page.goto(`${server.origin}/#/`);
  await ann.page.reload();
  await line("Session number 0").first().waitFor();
  expect(await list().getByRole("listitem").count()).toBeLessThan(60);
  await line(/^Session number 0/).getByRole("link").focus();
  await ann.page.keyboard.press("End");
  await expect.poll(() => ann.page.evaluate(() => document.activeElement?.textContent)).toContain("Session number 999");
  await list().getByRole("searchbox", { name: "Search sessions" }).fill("shop-3 number 10");
  await expect.poll(() => list().getByRole("link", { name: /^Session number/ }).count()).toBeLessThan(5);
});
