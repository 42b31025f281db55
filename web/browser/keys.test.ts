// Keys and the palette.

import { afterAll, beforeAll, expect, test } from "vitest";

import { on, words } from "./replies";
import { Server } from "./server";
import { part, Visitor } from "./visitor";

let server: Server;
let visitor: Visitor;

beforeAll(async () => {
  server = await Server.start({ script: { replies: [on("Say much", words("Much was said."))], afterwards: { blocks: [words("Heard.")] } } });
  visitor = await Visitor.come(server);
  visitor.page.setDefaultTimeout(15_000);
});
afterAll(() => part(server, visitor));

const begin = () => visitor.startSession();

test("Alt+K clears the view only; the conversation can be shown again", async () => {
  await begin();
  await visitor.say("Say much");
  await visitor.sees("Much was said.");
  await visitor.log.locator(".turn-end").waitFor(); // the turn is over: no further row comes
  await visitor.page.keyboard.press("Alt+k");
  await visitor.log.locator(".rows").getByText("Much was said.").waitFor({ state: "detached" }); // the announcer for screen readers keeps it
  await visitor.log.getByText(/are hidden|is hidden/).waitFor();
  await visitor.page.reload();
  await visitor.sees("Much was said.");
});

test("Ctrl+C copies the selection, and does nothing else", async () => {
  await begin();
  await visitor.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await visitor.composer.fill("copy me");
  await visitor.composer.selectText();
  await visitor.page.keyboard.press("Control+c");
  expect(await visitor.page.evaluate(() => navigator.clipboard.readText())).toBe("copy me");
  expect(await visitor.composer.inputValue()).toBe("copy me");
});

test("the palette finds actions, sessions and commands; the keys dialog lists every key", async () => {
  await begin();
  await visitor.say("A session to be found");
  await visitor.sees("Heard.");
  await visitor.startSession();
  const { page } = visitor;
  await page.keyboard.press("Control+k");
  const field = page.getByRole("combobox", { name: "Search actions, sessions and commands" });
  await field.and(page.locator(":focus")).waitFor();
  expect(await page.getByRole("option").first().textContent()).toMatch(/^New session/);
  await page.keyboard.type("to be found");
  await page.getByRole("option", { name: /A session to be found/ }).first().waitFor();
  await page.keyboard.press("Enter");
  await visitor.sees("Heard.");
  await page.keyboard.press("Control+/");
  await field.fill("compact");
  await page.getByRole("option", { name: /\/compact/ }).click();
  await page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>(".composer textarea")?.value === "/compact ");
  await visitor.composer.fill("");
  await page.keyboard.press("Control+k");
  for (const action of ["Fork this session", "Archive this session", "Export this session as Markdown", "Connect a model", "Stop the turn"]) {
    await field.fill(action);
    await page.getByRole("option", { name: action }).first().waitFor();
  }
  await field.fill("show keyboard");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  for (const words of ["Send the message", "New line", "Clear the view", "All commands", "Allow for this session"]) await dialog.getByText(words).first().waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
});

test("tooltips show the keys, and the palette forks the session", async () => {
  await begin();
  await visitor.say("Say much");
  await visitor.page.getByRole("button", { name: "Changes" }).first().waitFor();
  expect(await visitor.page.getByRole("button", { name: "Changes" }).first().getAttribute("title")).toBe("Changes (Alt+2)");
  expect(await visitor.page.getByRole("button", { name: "New session" }).first().getAttribute("title")).toBe("New session (Alt+N)");
  const before = visitor.page.url();
  await visitor.log.locator(".turn-end").waitFor();
  await visitor.page.keyboard.press("Control+k");
  await visitor.page.keyboard.type("fork this");
  await visitor.page.keyboard.press("Enter");
  await visitor.page.waitForURL((now) => now.href !== before);
  await visitor.page.getByText("Forked. The original session is unchanged.").waitFor();
});

test("Alt and a number opens a panel and closes it; Alt+T changes the theme", async () => {
  await begin();
  await visitor.page.keyboard.press("Alt+6");
  await visitor.page.getByRole("complementary", { name: /settings/i }).waitFor();
  await visitor.page.keyboard.press("Alt+6");
  await visitor.page.getByRole("complementary", { name: /settings/i }).waitFor({ state: "detached" });
  await visitor.page.keyboard.press("Alt+t");
  await visitor.page.keyboard.press("Alt+t");
  expect(await visitor.page.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
});
