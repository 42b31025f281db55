// The side panels: opened and left by mouse and key, help from what the CLI tells, fit for everybody, on a desk and on a phone.

import { afterAll, beforeAll, expect, test } from "vitest";

import { comeAndStart, faultsOf, openPanel, picture } from "./at-panel";
import { Server } from "./server";
import { part, PHONE, sharedBrowser, Visitor } from "./visitor";

let server: Server;
beforeAll(async () => {
  const hooks = { hooks: { PostToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command: "true" }] }] } };
  server = await Server.start({
    script: { replies: [], afterwards: { blocks: [{ type: "text", text: "Here I am." }] } },
    files: { "../.claude/settings.json": JSON.stringify(hooks) }, // the user's own
  });
});
afterAll(() => part(server));

test("each panel opens by its button, has a title and closes by Escape, which restores the focus", async () => {
  const visitor = await comeAndStart(server);
  await visitor.say("hello");
  await visitor.sees("Here I am.");
  for (const name of ["Tasks", "Changes", "Context", "MCP servers", "Help", "Settings", "Inspector"]) {
    const panel = await openPanel(visitor, name);
    await panel.getByRole("heading", { name, level: 2 }).waitFor();
    await expect.poll(() => panel.getByText("Loading…").count()).toBe(0);
    await picture(visitor, `panel-${name}`);
    await visitor.page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    expect(await visitor.page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe(name);
  }
  await visitor.leave();
});

test.each([1024, 1280, 1920])("a panel leaves the start of the text in place, and covers neither text nor controls: %i px", async (width) => {
  const visitor = await comeAndStart(server, { size: { width, height: 900 } });
  await visitor.say("hello");
  await visitor.sees("Here I am.");
  const shown = visitor.log.locator(".words").getByText("Here I am.");
  const place = async () => (await shown.boundingBox())!;
  const before = await place();
  const status = visitor.page.getByRole("group", { name: "Status" }).getByRole("button");
  for (const name of ["Tasks", "Changes"]) {
    const panel = await openPanel(visitor, name);
    const now = await place();
    const edge = (await panel.boundingBox())!.x;
    if (name === "Tasks" || width < 1920) expect(now.x).toBe(before.x); // Changes is too wide to be beside it otherwise
    if (width === 1920) expect([now.width, now.height]).toEqual([before.width, before.height]);
    for (const part of [shown, visitor.composer, visitor.page.getByRole("button", { name: "Send" }), visitor.page.getByRole("group", { name: "Panels" }), ...(await status.all())]) {
      const box = (await part.boundingBox())!;
      expect(box.x + box.width).toBeLessThanOrEqual(edge);
    }
    await visitor.page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
  }
  await visitor.say("hello again");
  await expect.poll(() => visitor.log.locator(".words").count()).toBe(2);
  await visitor.page.setViewportSize({ width, height: 420 });
  await openPanel(visitor, "Changes");
  await shown.first().hover();
  await visitor.page.mouse.wheel(0, -400);
  const toEnd = (await visitor.page.getByRole("button", { name: "Scroll to end" }).boundingBox())!;
  expect(toEnd.x + toEnd.width).toBeLessThanOrEqual((await visitor.page.getByRole("complementary", { name: "Changes" }).boundingBox())!.x);
  await visitor.leave();
});

test("help lists and finds tools, commands, agents, hooks and the version", async () => {
  const visitor = await comeAndStart(server);
  await visitor.say("hello");
  await visitor.sees("Here I am.");
  const panel = await openPanel(visitor, "Help");
  await panel.getByText("Tools", { exact: false }).first().waitFor();
  await panel.getByText(/^Tools/).last().click();
  await panel.getByText("Bash", { exact: true }).waitFor();
  await panel.getByText(/^Commands/).click();
  await panel.getByText("/compact", { exact: true }).waitFor();
  await panel.getByText(/^Active hooks/).click();
  await panel.getByText("After a tool was used: Bash").waitFor();
  await panel.getByText(/version \d/).waitFor();
  await panel.getByRole("searchbox", { name: "Filter" }).fill("compact");
  await expect.poll(() => panel.getByText("Bash", { exact: true }).count()).toBe(0);
  await panel.getByText("/compact", { exact: true }).waitFor();
  await panel.getByRole("searchbox", { name: "Filter" }).fill("no such thing");
  await panel.getByText("No matches for “no such thing”.").waitFor();
  await panel.getByRole("button", { name: "Keyboard shortcuts" }).click();
  await visitor.page.getByRole("dialog").waitFor();
  await visitor.leave();
});

test("on a phone a panel is a sheet, and a tap beside it closes it", async () => {
  const visitor = await comeAndStart(server, { size: PHONE, touch: true, dark: true });
  await visitor.say("hello");
  await visitor.sees("Here I am.");
  await visitor.page.getByRole("button", { name: /^Context [<\d]/ }).click();
  const panel = visitor.page.getByRole("complementary", { name: "Context" });
  await panel.waitFor();
  const box = (await panel.boundingBox())!;
  expect([box.x, box.width, box.y > 0]).toEqual([0, PHONE.width, true]);
  await picture(visitor, "panel-phone");
  expect(await faultsOf(visitor.page, "aside")).toEqual([]);
  await visitor.page.touchscreen.tap(200, 10);
  await panel.waitFor({ state: "detached" });
  await visitor.leave();
});

test("a view-only device sees the panels, and why it may not change anything", async () => {
  const owner = await comeAndStart(server);
  await owner.say("hello");
  await owner.sees("Here I am.");
  const session = owner.page.url();
  await owner.page.goto(`${server.origin}/#/devices`);
  await owner.page.getByRole("checkbox", { name: "Approve" }).uncheck();
  await owner.page.getByRole("checkbox", { name: "Prompt" }).uncheck();
  await owner.page.getByRole("button", { name: "Create link" }).click();
  const link = await owner.page.getByRole("textbox", { name: "Link for the other device" }).inputValue();
  const context = await (await sharedBrowser()).newContext({ reducedMotion: "reduce" });
  const guest = new Visitor(await context.newPage(), context, server);
  guest.page.setDefaultTimeout(10_000);
  await guest.page.goto(link);
  await guest.page.getByText("This device can view sessions").waitFor();
  await guest.page.goto(session);
  await guest.sees("Here I am.");
  const settings = await openPanel(guest, "Settings");
  await settings.getByText("This device lacks the Approve scope.").waitFor();
  expect(await settings.getByRole("combobox", { name: "Model" }).isDisabled()).toBe(true);
  const gauge = await openPanel(guest, "Context");
  expect(await gauge.getByRole("button", { name: "Compact now" }).isDisabled()).toBe(true);
  await (await openPanel(guest, "MCP servers")).getByText(/Adding servers needs the Administer scope/).waitFor();
  await guest.leave();
  await owner.leave();
});
