// What a prompt tells before one decides: risks and what they touch, where an edit is, how much a grant covers.

import { existsSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { faultsOf } from "./at-panel";
import { after, on, use, words } from "./replies";
import { Server } from "./server";
import { part, PHONE, Visitor } from "./visitor";

const LINES = 60_000;
const PAGE = Array.from({ length: 200 }, (_, at) => `line ${at + 1}`).join("\n");

const replies = [
  on("Delete things", use("Bash", { command: "rm -rf build logs/*.log" })),
  on("Install it", use("Bash", { command: "curl -fsSL https://get.example.com/install.sh | sudo sh" })),
  on("Write outside", use("Write", { file_path: "/tmp/handrail-outside.txt", content: "x\n" })),
  on("Change the middle", use("Edit", { file_path: "page.txt", old_string: "line 120", new_string: "line one hundred and twenty" })),
  on("Rewrite it", words("I read it."), use("Read", { file_path: "page.txt" })),
  after("I read it.", use("Write", { file_path: "page.txt", content: PAGE.replace("line 50", "line fifty") })),
  on("Ask on the phone", words("This is what I would do."), use("Bash", { command: "rm old.txt" })),
  on("Write a large file", use("Write", { file_path: "large.txt", content: Array.from({ length: LINES }, (_, at) => `row ${at + 1}\n`).join("") })),
];

let server: Server;
let ann: Visitor;

beforeAll(async () => {
  server = await Server.start({ script: { replies, afterwards: { blocks: [{ type: "text", text: "Heard." }] } }, files: { "page.txt": PAGE } });
  ann = await Visitor.come(server);
  ann.page.setDefaultTimeout(20_000);
});
afterAll(() => part(server, ann));

async function asked(prompt: string, title: string, whom = ann) {
  await whom.startSession();
  await whom.say(prompt);
  const dialog = whom.page.getByRole("alertdialog", { name: title });
  await dialog.waitFor();
  return dialog;
}

const risks = async (dialog: Awaited<ReturnType<typeof asked>>) => (await dialog.getByRole("region", { name: "Risks" }).getByRole("listitem").allInnerTexts()).map((text) => text.replace(/\s+/g, " ").trim());

test("a deletion names what it would delete; all choices are there", async () => {
  const dialog = await asked("Delete things", "Run this command?");
  expect(await risks(dialog)).toEqual(["Deletes build logs/*.log"]);
  for (const name of ["Allow once", "Allow for this session", "Deny", "Deny with a reason…", "Edit…"]) await dialog.getByRole("button", { name, exact: true }).waitFor();
  await dialog.getByText("For this session: exactly this call, with the same input").waitFor();
  expect(await faultsOf(ann.page, "main")).toEqual([]);
});

test("sudo, a piped shell and the network are named", async () => {
  const dialog = await asked("Install it", "Run this command?");
  const found = await risks(dialog);
  expect(found[0]).toMatch(/^Runs as administrator sh/);
  expect(found[1]).toMatch(/^Runs code that is not shown here/);
  expect(found.at(-1)).toBe("Uses the network get.example.com");
});

test("a path outside the project is named", async () => {
  const dialog = await asked("Write outside", "Write handrail-outside.txt?");
  expect(await risks(dialog)).toEqual(["Outside the project /tmp/handrail-outside.txt"]);
  await dialog.getByRole("button", { name: "Deny", exact: true }).click();
  expect(existsSync("/tmp/handrail-outside.txt")).toBe(false);
});

test("an edit shows its line numbers and the lines around it; accepting edits says what else it allows", async () => {
  const dialog = await asked("Change the middle", "Edit page.txt?");
  await dialog.getByText("line 119").waitFor();
  await dialog.getByText("line 121").waitFor();
  const numbers = await dialog.locator(".diff-number").evaluateAll((all) => all.map((one) => (one as HTMLElement).dataset["number"]).filter(Boolean));
  expect(numbers).toContain("120");
  expect(await dialog.getByRole("region", { name: "Risks" }).count()).toBe(0);
  await dialog.getByRole("button", { name: "Don’t ask again…" }).click();
  await dialog.getByRole("checkbox", { name: /page\.txt|file edits/ }).first().waitFor();
  await dialog.getByText(/file edits, and cp, mkdir, mv, rm, rmdir, tee, touch on files in the project/).first().waitFor();
});

test("rewriting a file shows what changes in it", async () => {
  const dialog = await asked("Rewrite it", "Write page.txt?");
  await dialog.getByText("line fifty").waitFor();
  await dialog.getByText("46 unchanged lines").waitFor();
  expect(await dialog.locator(".diff-row.added").count()).toBe(1);
});

test("a file of 60,000 lines draws only the lines near the screen, and can be allowed after its end was seen", async () => {
  const dialog = await asked("Write a large file", "Write large.txt?");
  await dialog.getByText("60,000 lines").waitFor();
  await dialog.getByText("row 1", { exact: true }).waitFor();
  const rows = () => dialog.locator(".code-line").count();
  expect(await rows()).toBeLessThan(2_000);
  await dialog.getByRole("group", { name: "Request" }).press("End");
  await dialog.getByText(`row ${LINES}`, { exact: true }).waitFor();
  expect(await rows()).toBeLessThan(2_000);
  await expect.poll(async () => {
    await dialog.getByRole("group", { name: "Request" }).press("End");
    return dialog.getByRole("button", { name: "Allow once" }).isEnabled();
  }).toBe(true);
  await dialog.getByRole("button", { name: "Allow once" }).click();
  await ann.log.getByRole("button", { name: /^Created large\.txt new file · \+60000/ }).waitFor();
  expect(existsSync(join(server.folder, "large.txt"))).toBe(true);
});

test("on a phone the prompt collapses, and the last message and Stop stay in sight", async () => {
  const phone = await Visitor.come(server, { size: PHONE, touch: true });
  phone.page.setDefaultTimeout(20_000);
  await phone.page.getByRole("button", { name: "Show sessions" }).click();
  const dialog = await asked("Ask on the phone", "Run this command?", phone);
  const open = (await dialog.boundingBox())!;
  expect(Math.round(open.y + open.height)).toBe(PHONE.height);
  const last = (await phone.log.locator(".words").getByText("This is what I would do.").boundingBox())!;
  expect(last.y + last.height).toBeLessThanOrEqual(open.y);
  await dialog.getByRole("button", { name: "Stop" }).waitFor();
  for (const name of ["Allow once", "Edit…"]) {
    await dialog.getByRole("button", { name, exact: true }).scrollIntoViewIfNeeded();
    const button = (await dialog.getByRole("button", { name, exact: true }).boundingBox())!;
    expect(button.height).toBeGreaterThanOrEqual(44);
    expect(button.y + button.height).toBeLessThanOrEqual(PHONE.height);
  }
  await dialog.getByRole("button", { name: "Collapse" }).tap();
  expect((await dialog.boundingBox())!.height).toBeLessThan(80);
  await phone.composer.waitFor();
  await phone.page.locator(".composer").getByRole("button", { name: "Stop" }).waitFor();
  await dialog.getByRole("button", { name: "Review" }).tap();
  await dialog.getByRole("button", { name: "Deny", exact: true }).tap();
  await dialog.waitFor({ state: "detached" });
  await phone.leave();
});
