// What needs the user: permissions in all ways to answer them, as a person does.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { Locator } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { after, on, use, words } from "./replies";
import { Server } from "./server";
import { command } from "./session";
import { part, PHONE, Visitor } from "./visitor";

const LONG = Array.from({ length: 120 }, (_, at) => `touch line-${at}`).join("\n");

const agent = (prompt: string) => use("Task|Agent", { description: "Help", prompt, subagent_type: "general-purpose", run_in_background: false });

const replies = [
  on("Make a file", words("I make it."), use("Bash", { command: "touch made.txt", description: "Make a file" })),
  after("I make it.", words("It is made.")),
  on("Make another", words("I make another."), use("Bash", { command: "touch wrong.txt", description: "Make a file" })),
  after("I make another.", words("Another is made.")),
  on("Remove it", words("I remove it."), use("Bash", { command: "rm made.txt" })),
  after("I remove it.", words("Then not.")),
  on("Stop there", words("I go on."), use("Bash", { command: "touch never.txt" })),
  after("I go on.", words("Never said.")),
  on("Run much", words("Much to run."), use("Bash", { command: LONG })),
  after("Much to run.", words("Much was run.")),
  on("In disguise", words("A harmless command."), use("Bash", { command: "touch a\u202Egnp.txt" })),
  after("A harmless command.", words("Seen through.")),
  on("Write a wide line", words("A wide line."), use("Write", { file_path: "wide.txt", content: `${"x ".repeat(300)}\n` })),
  after("A wide line.", words("Then not wide.")),
  on("Edit a wide line", words("Another wide line."), use("Edit", { file_path: "wide.py", old_string: "a = 1", new_string: `a = ${"1 + ".repeat(150)}1` })),
  after("Another wide line.", words("Then not that.")),
  on("Two at once", words("Two helpers."), agent("Helper one works."), agent("Helper two works.")),
  on("Helper one works.", words("One begins."), use("Write", { file_path: "one.txt", content: "1\n" })),
  on("Helper two works.", words("Two begins."), use("Write", { file_path: "two.txt", content: "2\n" })),
  after("One begins.", words("One ends.")),
  after("Two begins.", words("Two ends.")),
  after("Two helpers.", words("Both were asked.")),
  on("For the session", words("First of two."), use("Bash", { command: "mkdir first" })),
  after("First of two.", words("Second of two."), use("Bash", { command: "mkdir first" })),
  after("Second of two.", words("Asked only once.")),
  on("Plan it", use("EnterPlanMode", {})),
  { when: { after: "EnterPlanMode" }, blocks: [words("Here is my plan."), use("ExitPlanMode", { plan: "## The plan\n\n1. Write **one** file.\n2. Stop." })] },
  { when: { said: "Here is my plan.", failed: true }, times: 1, blocks: [words("A better plan."), use("ExitPlanMode", { plan: "## Another plan\n\n1. Nothing." })] },
  after("A better plan.", words("Off I go.")),
];

let server: Server;
let visitor: Visitor;

beforeAll(async () => {
  server = await Server.start({ script: { replies, afterwards: { blocks: [words("Nothing more.")] } } });
  visitor = await Visitor.come(server);
  visitor.page.setDefaultTimeout(10_000);
});
afterAll(() => part(server, visitor));

async function asked(prompt: string, title: string | RegExp, whom = visitor): Promise<Locator> {
  await whom.startSession();
  await whom.say(prompt);
  const dialog = whom.page.getByRole("alertdialog", { name: title });
  await dialog.waitFor();
  return dialog;
}

const file = (name: string) => join(server.folder, name);

test("a command is shown in full and runs after Allow", async () => {
  const dialog = await asked("Make a file", "Run this command?");
  await dialog.getByText("touch made.txt").first().waitFor();
  await dialog.getByRole("button", { name: "Allow once" }).click();
  await visitor.sees("It is made.");
  expect(existsSync(file("made.txt"))).toBe(true);
  await dialog.waitFor({ state: "detached" });
});

test("a prompt takes the focus, letters answer it, and the focus returns to the composer", async () => {
  await asked("Remove it", "Run this command?");
  await visitor.page.waitForFunction(() => document.activeElement?.getAttribute("role") === "alertdialog");
  await visitor.page.keyboard.press("r");
  await visitor.page.keyboard.type("yes, keep it please");
  await visitor.page.keyboard.press("Enter");
  await visitor.sees("Then not.");
  await visitor.sees(/Denied Bash: yes, keep it please/);
  await visitor.page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Message");
});

test("a prompt does not take the focus from someone who is typing", async () => {
  await visitor.startSession();
  await visitor.composer.pressSequentially("yes and");
  await command(visitor, "send", { session: visitor.page.url().split("/").at(-1)!, text: "Make a file" }); // from another device
  await visitor.page.getByRole("alertdialog").waitFor();
  await visitor.composer.pressSequentially(" no");
  expect(await visitor.composer.inputValue()).toBe("yes and no");
});

test("the input can be edited before it runs", async () => {
  const dialog = await asked("Make another", "Run this command?");
  await dialog.press("e");
  await dialog.getByRole("textbox", { name: "command" }).fill("touch right.txt");
  await dialog.getByRole("button", { name: "Allow with my changes" }).click();
  await visitor.sees("Another is made.");
  expect(existsSync(file("right.txt"))).toBe(true);
  expect(existsSync(file("wrong.txt"))).toBe(false);
});

test("Deny and stop ends the turn", async () => {
  const dialog = await asked("Stop there", "Run this command?");
  await dialog.getByRole("button", { name: "Deny with a reason" }).click();
  await dialog.getByRole("button", { name: "Deny and stop" }).click();
  await dialog.waitFor({ state: "detached" });
  await visitor.sees("Stopped by you");
  expect(await visitor.log.getByText("Never said.").count()).toBe(0);
});

test("a long command cannot be allowed before its end was visible", async () => {
  const dialog = await asked("Run much", "Run this command?");
  const yes = dialog.getByRole("button", { name: "Allow once" });
  await dialog.getByText("Scroll to the end to enable Allow").waitFor();
  await dialog.press("y");
  expect(await yes.isDisabled()).toBe(true);
  await dialog.getByRole("group", { name: "Request" }).press("End");
  await yes.click();
  await visitor.sees("Much was run.");
});

test.each([["Write a wide line", "Write wide.txt?"], ["Edit a wide line", "Edit wide.py?"]])("nothing of a request is cut off: %s", async (prompt, title) => {
  server.write("wide.py", "a = 1\n");
  const dialog = await asked(prompt, title);
  const cut = await dialog.getByRole("group", { name: "Request" }).evaluate((box) =>
    [box, ...box.querySelectorAll("*")].filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== "visible" && !one.classList.contains("unseen")).map((one) => `${one.tagName}.${one.className}`),
  );
  expect(cut).toEqual([]);
});

test("a disguised command shows what it hides", async () => {
  const dialog = await asked("In disguise", "Run this command?");
  await dialog.getByText("U+202E").first().waitFor();
  await visitor.page.keyboard.press("Escape");
  await visitor.sees("Seen through.");
});

test("several prompts name who asks, can be selected, and are answered separately", async () => {
  await asked("Two at once", /Write (one|two)\.txt\?/);
  await visitor.page.getByText("1 of 2").waitFor();
  await visitor.page.getByText("Asked by the subagent general-purpose").waitFor();
  const second = visitor.page.getByRole("alertdialog", { name: "Write two.txt?" });
  if (!(await second.isVisible())) await visitor.page.getByRole("alertdialog").press("ArrowRight");
  await second.getByRole("button", { name: "Deny", exact: true }).click();
  await second.waitFor({ state: "detached" });
  await visitor.page.getByRole("alertdialog", { name: "Write one.txt?" }).getByRole("button", { name: "Allow once" }).click();
  await visitor.sees("Both were asked.");
  expect(readFileSync(file("one.txt"), "utf8")).toBe("1\n");
  expect(existsSync(file("two.txt"))).toBe(false);
});

test("a grant for the session says what it allows, and prevents the next prompt", async () => {
  const dialog = await asked("For the session", "Run this command?");
  await dialog.getByText(/For this session: .*mkdir/).waitFor();
  await dialog.getByRole("button", { name: "Allow for this session" }).click();
  await visitor.sees("Asked only once.");
});

test("a plan is rendered, revised with feedback, and approved", async () => {
  const plan = await asked("Plan it", "Approve this plan?");
  await plan.getByRole("heading", { name: "The plan", exact: true }).waitFor();
  await plan.getByRole("textbox", { name: "Feedback" }).fill("do nothing");
  await plan.getByRole("button", { name: "Keep planning" }).click();
  await plan.getByRole("heading", { name: "Another plan" }).waitFor();
  await plan.getByRole("button", { name: "Approve and auto-accept edits" }).click();
  await visitor.sees("Off I go.");
  await visitor.log.getByRole("button", { name: /^Proposed a plan approved/ }).waitFor();
  await visitor.page.getByRole("button", { name: /mode: Accept edits/ }).waitFor();
  await plan.waitFor({ state: "detached" });
});

test("on a phone a prompt is a bottom sheet with large buttons", async () => {
  const phone = await Visitor.come(server, { size: PHONE, touch: true });
  await phone.page.getByRole("button", { name: "Show sessions" }).click();
  const dialog = await asked("Make a file", "Run this command?", phone);
  const box = (await dialog.boundingBox())!;
  expect(Math.round(box.y + box.height)).toBe(PHONE.height);
  const button = (await dialog.getByRole("button", { name: "Allow once" }).boundingBox())!;
  expect(button.height).toBeGreaterThanOrEqual(44);
  await dialog.getByRole("button", { name: "Deny", exact: true }).click();
  await phone.leave();
});
