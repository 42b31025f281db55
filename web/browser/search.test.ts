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

const list = () => ann.page.getByRole("navigation", { name: "Sessions" });
const field = () => list().getByRole("searchbox", { name: "Search sessions" });

test("search finds text in every session, marked in its context", async () => {
  await ann.page.keyboard.press("Alt+s");
  await field().and(ann.page.locator(":focus")).waitFor();
  await ann.page.keyboard.type("zanz");
  await list().getByText("1 result").waitFor();
  expect(await list().locator("mark").first().textContent()).toBe("zanz");
  await list().getByRole("button", { name: /something rare/ }).waitFor();
  expect(await faultsOf(ann.page, "nav")).toEqual([]);
});

test("a search in this session leaves out the others", async () => {
  await list().getByRole("radio", { name: "This one" }).check();
  await list().getByText("No results").waitFor();
  await list().getByRole("radio", { name: "All sessions" }).check();
  await list().getByText("1 result").waitFor();
});

test("a result scrolls to its message, also in a long conversation", async () => {
  await field().press("ArrowDown");
  await list().locator(".search-hit").and(ann.page.locator(":focus")).waitFor();
  await ann.page.keyboard.press("Enter");
  await ann.page.getByRole("heading", { level: 1, name: "something rare" }).waitFor();
  const found = ann.log.getByText("The needle is called");
  await found.waitFor();
  await expect.poll(() => found.evaluate((element) => {
    const { top, bottom } = element.getBoundingClientRect();
    const box = element.closest(".rows")!.getBoundingClientRect();
    return top >= box.top && bottom <= box.bottom;
  })).toBe(true);
});

test("typing filters titles, and Escape shows all sessions again", async () => {
  await field().fill("another");
  await list().getByRole("link", { name: /another one/ }).waitFor();
  await list().getByRole("link", { name: /something rare/ }).waitFor({ state: "detached" });
  await field().press("Escape");
  await list().getByRole("link", { name: /something rare/ }).waitFor();
  expect(await field().inputValue()).toBe("");
});

test("the list can be hidden, stays hidden after a reload, and can be shown again", async () => {
  expect(await ann.page.title()).toBe("something rare · Handrail");
  await list().getByRole("button", { name: "Hide session list" }).click();
  await list().waitFor({ state: "hidden" });
  await ann.page.reload();
  await ann.composer.waitFor();
  expect(await list().isVisible()).toBe(false);
  expect(await faultsOf(ann.page, "body")).toEqual([]);
  await ann.page.getByRole("button", { name: "Show sessions" }).click();
  await list().waitFor();
  await ann.page.keyboard.press("Alt+b");
  await list().waitFor({ state: "hidden" });
  await ann.page.keyboard.press("Alt+s");
  await field().and(ann.page.locator(":focus")).waitFor();
});
