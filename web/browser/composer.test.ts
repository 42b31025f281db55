// Writing: what is kept, what is completed, what is not sent.

import { afterAll, beforeAll, expect, test } from "vitest";

import { on, words } from "./replies";
import { Server } from "./server";
import { part, PHONE, Visitor } from "./visitor";

let server: Server;
let visitor: Visitor;

beforeAll(async () => {
  const replies = [on("first words", words("First answer.")), on("second words", words("Second answer."))];
  server = await Server.start({ script: { replies, afterwards: { blocks: [words("Heard.")] } }, files: { ".gitignore": "dist/\n", "dist/greeting.js": "", "src/greeting.py": "x = 1\n", "notes about this.md": "# notes\n" } });
  visitor = await Visitor.come(server);
  visitor.page.setDefaultTimeout(15_000);
});
afterAll(() => part(server, visitor));

const begin = () => visitor.startSession();

test("Enter sends, Shift+Enter adds a line, Up recalls earlier messages", async () => {
  await begin();
  await visitor.composer.pressSequentially("first words");
  await visitor.composer.press("Shift+Enter");
  await visitor.composer.pressSequentially("in two lines");
  expect(await visitor.composer.inputValue()).toBe("first words\nin two lines");
  await visitor.composer.press("Enter");
  await visitor.sees("First answer.");
  await visitor.say("second words");
  await visitor.sees("Second answer.");
  await visitor.composer.press("ArrowUp");
  expect(await visitor.composer.inputValue()).toBe("second words");
  await visitor.composer.press("ArrowUp");
  expect(await visitor.composer.inputValue()).toBe("first words\nin two lines");
  await visitor.composer.press("ArrowDown");
  await visitor.composer.press("ArrowDown");
  expect(await visitor.composer.inputValue()).toBe("");
});

test("a draft survives a reload, per session and per tab", async () => {
  await begin();
  await visitor.composer.fill("not sent yet");
  const first = visitor.page.url();
  await visitor.startSession();
  await visitor.page.waitForURL((url) => url.href !== first);
  await visitor.page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>(".composer textarea")?.value === "");
  await visitor.page.goto(first);
  await visitor.page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>(".composer textarea")?.value === "not sent yet");
  await visitor.page.reload();
  await visitor.composer.waitFor();
  expect(await visitor.composer.inputValue()).toBe("not sent yet");
  const other = await visitor.tab();
  await other.composer.waitFor();
  await other.composer.fill("something else");
  await visitor.page.reload();
  await visitor.composer.waitFor();
  expect(await visitor.composer.inputValue()).toBe("not sent yet");
});

test("a slash lists commands with descriptions; arrows and Tab choose", async () => {
  await begin();
  await visitor.composer.pressSequentially("/comp");
  const options = visitor.page.getByRole("listbox", { name: "Suggestions" }).getByRole("option");
  await options.filter({ hasText: "/compact" }).filter({ hasText: "summary" }).waitFor();
  await visitor.composer.press("Tab");
  expect(await visitor.composer.inputValue()).toBe("/compact ");
  await visitor.page.getByRole("listbox").waitFor({ state: "detached" });
});

test("an at sign lists files, except those that git ignores", async () => {
  await begin();
  await visitor.composer.pressSequentially("look at @greet");
  await visitor.page.getByRole("option", { name: /src\/greeting\.py/ }).click();
  expect(await visitor.composer.inputValue()).toBe("look at @src/greeting.py ");
  await visitor.composer.fill("");
  await visitor.composer.pressSequentially("and at @greeting");
  await visitor.page.getByRole("option", { name: /src\/greeting\.py/ }).waitFor();
  expect(await visitor.page.getByRole("option", { name: /dist/ }).count()).toBe(0);
  await visitor.composer.fill("");
});

test("commands of the page open its panels and are not sent", async () => {
  await begin();
  await visitor.say("/keybindings-help");
  await visitor.page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await visitor.page.keyboard.press("Escape");
  await visitor.page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor({ state: "detached" });
  for (const [typed, panel] of [["/config", /settings/i], ["/help", /help/i], ["/fast", /settings/i]] as const) {
    await visitor.say(typed);
    await visitor.page.getByRole("complementary", { name: panel }).waitFor();
    await visitor.page.keyboard.press("Escape");
  }
  expect(await visitor.log.getByText("Heard.").count()).toBe(0);
  expect(await visitor.composer.inputValue()).toBe("");
});

test("model and mode are switched in the composer", async () => {
  await begin();
  await visitor.say("first of all");
  await visitor.sees("Heard.");
  await visitor.page.getByRole("button", { name: /mode: Ask/ }).click();
  await visitor.page.getByRole("menuitemradio", { name: /^Plan/ }).click();
  await visitor.page.getByRole("button", { name: /mode: Plan/ }).waitFor();
  expect(await visitor.page.getByRole("menuitemradio", { name: /Bypass/ }).count()).toBe(0);
});

test("on a phone buttons replace the keys", async () => {
  const phone = await Visitor.come(server, { size: PHONE, touch: true });
  phone.page.setDefaultTimeout(15_000);
  await phone.page.getByRole("button", { name: "New session" }).first().or(phone.page.getByRole("button", { name: "Show sessions" })).first().waitFor();
  const drawer = phone.page.getByRole("button", { name: "Show sessions" });
  if (await drawer.isVisible()) await drawer.click();
  await phone.startSession();
  await phone.page.getByRole("button", { name: "Commands" }).click();
  await phone.page.getByRole("option", { name: /\/compact/ }).waitFor();
  expect(await phone.composer.inputValue()).toBe("/");
  await phone.leave();
});
