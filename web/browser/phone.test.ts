// The same page on a phone: the list is a drawer, the panels are in the menu, what one touches is large enough.

import { afterAll, beforeAll, expect, test } from "vitest";

import { faultsOf } from "./at-panel";
import { Server } from "./server";
import { part, PHONE, Visitor } from "./visitor";

let server: Server;
let ann: Visitor;

beforeAll(async () => {
  server = await Server.start();
  ann = await Visitor.come(server, { size: PHONE, touch: true });
});

afterAll(() => part(server, ann));

const list = () => ann.page.getByRole("navigation", { name: "Sessions" });

test("the drawer opens by its button, and closes by Escape and by choosing", async () => {
  await ann.page.getByRole("button", { name: "Show sessions" }).tap();
  await list().waitFor();
  await ann.page.keyboard.press("Escape");
  await list().waitFor({ state: "hidden" });
  await ann.page.getByRole("button", { name: "Show sessions" }).tap();
  await ann.startSession();
  await list().waitFor({ state: "hidden" });
  await ann.say("hello from the phone");
  await ann.sees("This is Demo mode");
});

test("panels and actions of a session are in one menu, and nothing overflows", async () => {
  await ann.page.getByRole("button", { name: "More actions for hello from the phone" }).tap();
  await ann.page.getByRole("menuitemcheckbox", { name: "Help" }).tap();
  await ann.page.getByRole("complementary", { name: "Help" }).waitFor();
  await ann.page.keyboard.press("Escape");
  for (const place of ["#/", "#/usage", "#/devices", "#/settings"]) {
    await ann.page.goto(`${server.origin}/${place}`);
    await ann.page.getByRole("heading", { level: 1 }).waitFor();
    expect(await ann.page.evaluate(() => document.documentElement.scrollWidth), place).toBeLessThanOrEqual(PHONE.width);
    expect(await faultsOf(ann.page, "main"), place).toEqual([]);
  }
});

test("touch targets are at least 44 pixels high", async () => {
  await ann.page.goto(`${server.origin}/#/`);
  await ann.page.getByRole("button", { name: "Start the tour" }).waitFor();
  await ann.page.getByRole("button", { name: "Show sessions" }).tap();
  await list().getByRole("link", { name: /hello from the phone/ }).waitFor();
  const low = await ann.page.evaluate(() => [...document.querySelectorAll("nav button, nav a, main button")].filter((one) => one.getBoundingClientRect().height < 44 && one.checkVisibility()).map((one) => one.outerHTML.slice(0, 120)));
  expect(low).toEqual([]);
});
