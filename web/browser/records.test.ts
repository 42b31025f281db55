// What the page records is what happened: edited calls, durations, counts of lines, interruptions, denials.

import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { openPanel } from "./at-panel";
import { after, on, use, words } from "./replies";
import { Server } from "./server";
import { part, TALL, Visitor } from "./visitor";

/** Prints a line, then waits until the test lets it end. */
const HELD = 'echo "first line"; while [ ! -e go ]; do sleep 0.05; done; echo "last line"';

const replies = [
  on("Make a marker", words("A marker."), use("Bash", { command: "touch wrongname.txt", description: "Make a marker" })),
  after("A marker.", words("The marker is made.")),
  on("Write notes", words("Notes."), use("Write", { file_path: "notes.txt", content: "alpha\nbeta\n" })),
  after("Notes.", words("Notes are written.")),
  on("Print much", words("Much."), use("Bash", { command: "seq 1 50000" })),
  after("Much.", words("Much was printed.")),
  on("Print blank lines", words("Blanks."), use("Bash", { command: "touch blank; printf 'a\\n\\n\\nb\\n'" })),
  after("Blanks.", words("Blanks were printed.")),
  on("Hold on", words("Holding."), use("Bash", { command: HELD })),
  after("Holding.", words("It was let go.")),
  on("Wait forever", words("Waiting."), use("Bash", { command: "echo begun; sleep 20" })),
  on("Ask me", use("AskUserQuestion", { questions: [{ question: "Which colour?", header: "Colour", multiSelect: false, options: [{ label: "Red", description: "Warm" }, { label: "Blue", description: "Cold" }] }] })),
  { when: { after: "AskUserQuestion" }, times: 1, blocks: [words("No colour then.")] },
  on("Plan it", use("EnterPlanMode", {})),
  { when: { after: "EnterPlanMode" }, times: 1, blocks: [words("A plan."), use("ExitPlanMode", { plan: "1. Do it." })] },
  after("A plan.", words("Another plan later.")),
];

let server: Server;
let ann: Visitor;

beforeAll(async () => {
  server = await Server.start({ script: { replies, afterwards: { blocks: [words("Heard.")] } } });
  ann = await Visitor.come(server, { size: TALL });
  ann.page.setDefaultTimeout(15_000);
});
afterAll(() => part(server, ann));

const prompt = (title: string | RegExp) => ann.page.getByRole("alertdialog", { name: title });
const allow = (title: string | RegExp) => prompt(title).getByRole("button", { name: "Allow once" }).click();
const call = (name: RegExp) => ann.log.getByRole("button", { name });
const sessionId = () => ann.page.url().split("/").at(-1)!;

test("an edited call shows what ran, marked as edited, also after a reload, in search and in the export", async () => {
  await ann.startSession();
  await ann.say("Make a marker");
  await prompt("Run this command?").press("e");
  await prompt("Run this command?").getByRole("textbox", { name: "command" }).fill("touch rightname.txt");
  await prompt("Run this command?").getByRole("button", { name: "Allow with my changes" }).click();
  await ann.sees("The marker is made.");
  for (const again of [false, true]) {
    if (again) await ann.page.reload();
    await call(/touch rightname\.txt.*edited by you/).waitFor();
    expect(await ann.log.getByText("wrongname").count()).toBe(0);
  }
  const exported = await ann.context.request.get(`${server.origin}/api/sessions/${sessionId()}/export?format=markdown`);
  expect(await exported.text()).toMatch(/allow, with changes[\s\S]*touch rightname\.txt/);
  const found = await ann.context.request.get(`${server.origin}/api/search?q=rightname`);
  expect(((await found.json()) as { hits: unknown[] }).hits).toHaveLength(1);
});

test("an edited file is in Changes as it was written; lines are counted as on disk", async () => {
  await ann.startSession();
  await ann.say("Write notes");
  await prompt("Write notes.txt?").getByText(/2 lines/).waitFor();
  await prompt("Write notes.txt?").press("e");
  await prompt("Write notes.txt?").getByRole("textbox", { name: "content" }).fill("alpha\nbeta\ngamma\n");
  await prompt("Write notes.txt?").getByRole("button", { name: "Allow with my changes" }).click();
  await call(/^Created notes\.txt new file · \+3 edited by you/).waitFor();
  await call(/^Created notes\.txt/).click();
  await ann.sees("gamma");
  const panel = await openPanel(ann, "Changes");
  await panel.getByRole("button", { name: /^notes\.txt new file \+3/ }).waitFor();
});

test("the time a person takes to decide is not part of a call's duration", async () => {
  await ann.startSession();
  await ann.say("Print blank lines");
  await prompt("Run this command?").waitFor();
  await ann.page.waitForTimeout(1500); // the person thinks
  await allow("Run this command?");
  await ann.sees("Blanks were printed.");
  expect(await call(/^Ran touch blank/).innerText()).toMatch(/4 lines$/);
});

test("a large output shows its first and last lines, the true number of lines, and opens whole", async () => {
  await ann.startSession();
  await ann.say("Print much");
  await ann.sees("Much was printed.");
  await call(/^Ran seq 1 50000 282 KiB/).click();
  await ann.sees("50,000 lines, 282 KiB.");
  const output = ann.log.getByRole("region", { name: "Output" });
  await output.getByText("50000", { exact: true }).waitFor();
  await output.getByText("1", { exact: true }).waitFor();
  const [page] = await Promise.all([ann.context.waitForEvent("page"), ann.log.getByRole("link", { name: /Open the full output/ }).click()]);
  await page.waitForLoadState();
  expect((await page.locator("body").innerText()).trim().split("\n")).toHaveLength(50_000);
  await page.close();
});

test("a command shows its output while it runs", async () => {
  await ann.startSession();
  await ann.say("Hold on");
  await call(/^Running echo/).click();
  await ann.log.getByRole("region", { name: "Output" }).getByText("first line").waitFor();
  writeFileSync(join(server.folder, "go"), "");
  await ann.sees("It was let go.");
  await ann.log.getByRole("region", { name: "Output" }).getByText("last line").waitFor();
});

test("an interrupted call is shown as interrupted, and not as denied", async () => {
  await ann.startSession();
  await ann.say("Wait forever");
  await call(/^Running echo begun/).waitFor();
  await ann.page.getByRole("button", { name: "Stop" }).click();
  await ann.sees("Stopped by you");
  await call(/^Run echo begun.*interrupted$/).waitFor();
  expect(await ann.log.getByText(/denied/).count()).toBe(0);
});

test("a skipped question and a plan to be revised are not called denied", async () => {
  await ann.startSession();
  await ann.say("Ask me");
  await prompt("Question").getByRole("button", { name: "Skip" }).click();
  await ann.sees("No colour then.");
  await call(/^Asked Which colour\? *not answered$/).waitFor();
  await ann.say("Plan it");
  await prompt("Approve this plan?").getByRole("button", { name: "Keep planning" }).click();
  await ann.sees("Another plan later.");
  await call(/^Proposed a plan *plan to be revised$/).waitFor();
  await ann.page.reload();
  await ann.sees("Another plan later.");
  expect(await ann.log.getByText(/denied/i).count()).toBe(0);
});
