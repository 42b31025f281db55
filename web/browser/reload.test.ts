// Reloaded, in a second tab, on a phone: everybody sees the same, and nothing is lost or doubled.

import { afterAll, beforeAll, expect, test } from "vitest";

import { words as text } from "./replies";
import { Server } from "./server";
import { begin, visit } from "./session";
import { part, PHONE, Visitor } from "./visitor";

const LONG = Array.from({ length: 300 }, (_, at) => `word${at}`).join(" ");
const bash = (command: string) => ({ type: "tool_use", name: "Bash", input: { command, description: "Make a file" } });

let server: Server;
let visitor: Visitor;
let session: string;

beforeAll(async () => {
  server = await Server.start({
    script: {
      replies: [
        { when: { prompt: "long" }, times: 3, blocks: [text(LONG)], delay: 0.012 },
        { when: { prompt: "file" }, times: 3, blocks: [text("I make a file."), bash("touch made.txt")] },
        { when: { said: "I make a file." }, times: 3, blocks: [text("That is done.")] },
        { when: { prompt: "thanks" }, times: 3, blocks: [text("You are welcome.")] },
      ],
    },
  });
  visitor = await Visitor.come(server);
  session = await begin(visitor);
});
afterAll(() => part(server, visitor));

const shown = async (one: Visitor): Promise<string[]> => (await one.log.locator(".words, .said-words").allTextContents()).map((words) => words.trim());
const prompt = (one: Visitor) => one.page.getByRole("alertdialog").first();

test("a block that streams continues after a reload", async () => {
  await visitor.say("long, please");
  await visitor.sees("word20");
  await visitor.page.reload();
  await visitor.sees("word20"); // the text so far is shown again
  expect(await visitor.log.getByText("word299").count()).toBe(0);
  await visitor.sees("word299");
  await expect.poll(() => shown(visitor)).toEqual(["long, please", LONG]);
});

test("a second tab and a phone show the same streaming text", async () => {
  const tab = await visitor.tab();
  const phone = await Visitor.come(server, { size: PHONE, touch: true });
  await visit(phone, session);
  await visitor.say("long again");
  const all = [visitor, tab, phone];
  for (const one of all) await one.sees(/word\d+ word\d+$/);
  for (const one of all) await expect.poll(async () => (await shown(one)).at(-1), { timeout: 20_000 }).toBe(LONG);
  await phone.leave();
  await tab.page.close();
});

test("a prompt appears after a reload and in every window; the others name the device that answered", async () => {
  const phone = await Visitor.come(server, { size: PHONE, touch: true });
  await visit(phone, session);
  await visitor.say("a file, please");
  await prompt(visitor).waitFor();
  await visitor.page.reload();
  await prompt(visitor).waitFor();
  await prompt(phone).waitFor();
  await prompt(phone).getByRole("button", { name: /^(Allow|Yes)/ }).first().click();
  await prompt(visitor).waitFor({ state: "hidden" });
  await visitor.sees(/Allowed .* on Chrome/);
  for (const one of [visitor, phone]) await one.sees("That is done.");
  await visitor.page.reload();
  await visitor.sees("That is done.");
  expect(await visitor.log.getByText("That is done.").count()).toBe(1);
  await phone.leave();
});

test("an answer and a message given offline are delivered once after a reload, also from a duplicated tab", async () => {
  const tab = new Visitor(await visitor.context.newPage(), visitor.context, server);
  let online = true;
  let wire: { close(): unknown } | undefined;
  await tab.page.routeWebSocket(/\/ws$/, (line) => {
    if (!online) return line.close();
    line.connectToServer();
    wire = line;
    return undefined;
  });
  await visit(tab, session);
  await tab.say("another file, please");
  await prompt(tab).waitFor();
  online = false;
  await wire?.close();
  await tab.page.getByText(/Connection lost/).waitFor();
  await prompt(tab).getByRole("button", { name: "Allow once" }).click();
  await tab.say("many thanks");
  await tab.page.reload();
  await tab.page.getByText(/Connection lost/).waitFor();
  const copy = new Visitor(await visitor.context.newPage(), visitor.context, server);
  await copy.page.addInitScript((kept) => sessionStorage.setItem("handrail.undelivered", kept), (await undelivered(tab))!);
  online = true;
  await visit(copy, session);
  // The message may be read during the turn or after it.
  const heard = async () => (await shown(tab)).slice(-6).filter((words) => ["That is done.", "many thanks"].includes(words)).toSorted();
  await expect.poll(heard, { timeout: 30_000 }).toEqual(["That is done.", "That is done.", "many thanks"]);
  for (const one of [tab, copy]) {
    await expect.poll(() => undelivered(one)).toBeNull();
    await one.page.close();
  }
});

const undelivered = ({ page }: Visitor) => page.evaluate(() => sessionStorage.getItem("handrail.undelivered"));

test("the page reported no error", async () => {
  await visitor.leave();
});
