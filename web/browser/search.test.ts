// The search in all that was said, and the way to what was found.

import { afterAll, beforeAll, expect, test } from "vitest";

import { faultsOf } from "./at-panel";
import { on, words } from "./replies";
import { Server } from "./server";
import { part, Visitor } from "./visitor";

let server: Server;
let ann: Visitor;
const long = Array.from({ length: 30 }, (_, at) => `Paragraph ${at + 1} of a long answer.`).join("\n\n");

beforeAll(async () => {
  server = await Server.start({
    script: { replies: [on("rare", words("The needle is called **zanzibar**."))], afterwards: { blocks: [words(long)] } },
  });
  ann = await Visitor.come(server);
  await ann.startSession();
  await ann.say("something rare");
  await ann.sees("zanzibar");
  for (const more of ["one", "two", "three"]) {
    await ann.say(more);
    await ann.sees("Paragraph 30 of");
  }
  await ann.startSession();
  await ann.say("another one");
  await ann.sees("Paragraph 30 of");
});

afterAll(() => part(server, ann));

const dialog = () => ann.page.getByRole("dialog", { name: "Search" });

test("words are found in every session, with the words around them marked", async () => {
  await ann.page.getByRole("navigation", { name: "Sessions" }).getByRole("button", { name: "Search" }).click();
  await dialog().getByRole("searchbox").fill("zanz");
  await dialog().getByText("1 result").waitFor();
  expect(await dialog().locator("mark").first().textContent()).toBe("zanz");
  await dialog().getByRole("button", { name: /something rare/ }).waitFor();
  expect(await faultsOf(ann.page, "dialog")).toEqual([]);
});

test("in this session alone nothing of the others is found", async () => {
  await dialog().getByRole("radio", { name: "Only this session" }).check();
  await dialog().getByText("No results").waitFor();
  await dialog().getByRole("radio", { name: "All sessions" }).check();
  await dialog().getByText("1 result").waitFor();
});

test("a result leads to its place in the conversation", async () => {
  await dialog().getByRole("searchbox").press("ArrowDown");
  await ann.page.keyboard.press("Enter");
  await dialog().waitFor({ state: "detached" });
  await ann.page.getByRole("heading", { level: 1, name: "something rare" }).waitFor();
  const found = ann.log.getByText("The needle is called");
  await found.waitFor();
  await expect.poll(() => found.evaluate((element) => {
    const { top, bottom } = element.getBoundingClientRect();
    const box = element.closest(".rows")!.getBoundingClientRect();
    return top >= box.top && bottom <= box.bottom;
  })).toBe(true);
});
