// Forks: a copy continues separately, and the tree of forks links to each.

import { afterAll, beforeAll, expect, test } from "vitest";

import { faultsOf } from "./at-panel";
import { Server } from "./server";
import { part, Visitor } from "./visitor";

let server: Server;
let ann: Visitor;

beforeAll(async () => {
  server = await Server.start();
  ann = await Visitor.come(server);
  await ann.startSession();
  await ann.say("the trunk");
  await ann.sees("This is Demo mode");
});

afterAll(() => part(server, ann));

const act = async (name: string) => {
  await ann.page.locator(".session-head").getByRole("button", { name: /^More actions for/ }).click();
  await ann.page.getByRole("menuitem", { name, exact: true }).click();
};
const dialog = () => ann.page.getByRole("dialog", { name: "Forks" });

test("a session without forks explains forks", async () => {
  await act("Show forks");
  await dialog().getByText("No forks yet").waitFor();
  await ann.page.keyboard.press("Escape");
});

test("a fork has the same history and names its origin", async () => {
  await act("Fork");
  await ann.page.getByRole("heading", { level: 1, name: "the trunk (fork)" }).waitFor();
  await ann.sees("the trunk");
  await ann.page.getByRole("link", { name: "Forked from the trunk" }).waitFor();
});

test("the tree lists both and links them", async () => {
  await act("Show forks");
  const branches = dialog().getByRole("list", { name: "Forks" }).getByRole("listitem");
  await expect.poll(() => branches.count()).toBe(2);
  await branches.nth(1).getByText("current").waitFor();
  expect(await faultsOf(ann.page, "dialog")).toEqual([]);
  await branches.nth(0).getByRole("button").click();
  await ann.page.getByRole("heading", { level: 1, name: "the trunk", exact: true }).waitFor();
  await ann.page.getByRole("link", { name: "Forked from the trunk" }).waitFor({ state: "detached" });
});

test("a fork at a message has the history up to it, and the tree names the message", async () => {
  await ann.say("said later");
  await ann.sees("said later");
  await ann.log.getByRole("button", { name: "Message actions" }).first().click();
  await ann.page.getByRole("menuitem", { name: "Fork from here" }).click();
  await ann.page.getByRole("heading", { level: 1, name: "the trunk (fork)" }).waitFor();
  await ann.sees("the trunk");
  expect(await ann.log.locator(".rows").getByText("said later").count()).toBe(0);
  await act("Show forks");
  await dialog().getByRole("listitem").filter({ hasText: "current" }).getByText("at a message").waitFor();
});
