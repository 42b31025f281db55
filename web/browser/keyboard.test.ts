// Accessibility: a whole session without a mouse, focus order, announcements and reduced motion.

import { afterAll, beforeAll, expect, test } from "vitest";

import { after, on, use, words } from "./replies";
import { Server } from "./server";
import { part, Visitor } from "./visitor";

let server: Server;
let ann: Visitor;

beforeAll(async () => {
  const replies = [on("make a file", words("I make it."), use("Bash", { command: "touch made.txt", description: "Make a file" })), after("I make it.", words("It is made.")), on("ask me", words("May I?"), use("Bash", { command: "touch other.txt" })), after("May I?", words("As you wish.")), { when: { prompt: "take your time" }, times: 2, blocks: [words("so slow ".repeat(200))], delay: 0.1 }];
  server = await Server.start({ script: { replies, afterwards: { blocks: [words("Heard.")] } } });
  ann = await Visitor.come(server);
  ann.page.setDefaultTimeout(15_000);
});
afterAll(() => part(server, ann));

const focused = () => ann.page.locator(":focus");

test("a whole session without a mouse", async () => {
  const { keyboard } = ann.page;
  await ann.page.getByRole("heading", { name: "What do you want to work on?" }).waitFor();
  await keyboard.press("Alt+n");
  const dialog = ann.page.getByRole("dialog", { name: "New session" });
  await dialog.getByRole("textbox", { name: "First message" }).waitFor();
  for (let steps = 0; steps < 20 && !(await dialog.getByRole("button", { name: "Start", exact: true }).and(focused()).count()); steps += 1) await keyboard.press("Tab");
  await keyboard.press("Enter");
  await ann.composer.and(focused()).waitFor();
  await keyboard.type("make a file");
  await keyboard.press("Enter");
  await ann.page.getByRole("alertdialog").and(focused()).waitFor();
  await expect.poll(() => ann.page.getByRole("alertdialog").getByRole("button", { name: "Allow once" }).isEnabled()).toBe(true);
  await keyboard.press("y");
  await ann.sees("It is made.");
  await ann.composer.and(focused()).waitFor();
  await keyboard.press("Alt+l");
  const call = ann.log.getByRole("button", { name: /^Ran touch made\.txt/ });
  for (let steps = 0; steps < 20 && !(await call.and(focused()).count()); steps += 1) await keyboard.press("Tab");
  await keyboard.press("Enter");
  await ann.log.getByText("Make a file", { exact: true }).waitFor();
  await keyboard.press("Alt+3");
  await ann.page.getByRole("complementary", { name: "Context" }).waitFor();
  await keyboard.press("Escape");
  await ann.page.getByRole("complementary", { name: "Context" }).waitFor({ state: "detached" });
  await keyboard.press("Alt+i");
  await ann.composer.and(focused()).waitFor();
});

test("Tab follows the reading order, and the focus is always visible", async () => {
  await ann.page.locator("nav :is(a, button, input)").first().focus();
  const stops: { place: string; seen: boolean; name: string }[] = [];
  for (let steps = 0; steps < 60; steps += 1) {
    await ann.page.keyboard.press("Tab");
    const stop = await ann.page.evaluate(() => {
      const now = document.activeElement;
      if (!now || now === document.body) return null;
      const { outlineStyle, outlineWidth, boxShadow, borderColor } = getComputedStyle(now);
      const place = now.closest("nav") ? "1 sessions" : now.closest(".session-head") ? "2 head" : now.closest("[role=log]") ? "3 conversation" : now.closest(".composer") ? "4 composer" : now.closest(".status-bar") ? "5 status" : "";
      return { place, seen: (outlineStyle !== "none" && outlineWidth !== "0px") || boxShadow !== "none" || (now.matches("textarea, input") && borderColor !== ""), name: now.outerHTML.slice(0, 120) };
    });
    if (!stop) break;
    stops.push(stop);
  }
  const places = stops.map((one) => one.place).filter(Boolean);
  expect([...new Set(places)]).toEqual([...new Set(places)].toSorted()); // each comes after the one before
  expect(new Set(places).size).toBeGreaterThanOrEqual(4);
  expect(stops.filter((one) => !one.seen)).toEqual([]);
  expect(await ann.page.locator("[tabindex]").evaluateAll((all) => all.filter((one) => (one as HTMLElement).tabIndex > 0).length)).toBe(0);
});

test("complete messages are announced, not every delta; prompts are announced at once", async () => {
  await ann.page.evaluate(() => {
    const spoken: string[] = [];
    Object.assign(globalThis, { spoken });
    const region = document.querySelector("[role=log] .unseen[aria-live=polite]")!;
    // Screen readers announce added nodes.
    const hear = (changes: MutationRecord[]) => spoken.push(...changes.flatMap((one) => [...one.addedNodes].map((node) => node.textContent ?? "")));
    new MutationObserver(hear).observe(region, { childList: true, subtree: true });
  });
  const spoken = async () => (await ann.page.evaluate(() => (globalThis as unknown as { spoken: string[] }).spoken)).join("\n");
  await ann.say("say something");
  await expect.poll(spoken).toContain("Heard.");
  await expect.poll(spoken).toContain("Done");
  expect(await ann.log.getAttribute("aria-live")).toBe("off");
  await ann.say("ask me");
  await ann.page.getByRole("alertdialog").waitFor();
  await expect.poll(spoken).toContain("A question needs your answer");
  await ann.page.getByRole("alertdialog").press("Escape");
  await expect.poll(spoken).toContain("As you wish.");
  expect((await spoken()).split("Heard.")).toHaveLength(2); // once
});

test("nothing moves with reduced motion", async () => {
  const moving = () => ann.page.evaluate(() => document.getAnimations().filter((one) => one.playState === "running" && Number(one.effect?.getComputedTiming().duration ?? 0) > 1).length);
  await ann.say("take your time");
  await ann.sees(/so slow/);
  expect(await moving()).toBe(0);
  await ann.page.emulateMedia({ reducedMotion: "no-preference" });
  await expect.poll(moving).toBeGreaterThan(0); // for others it breathes
  await ann.page.emulateMedia({ reducedMotion: "reduce" });
  await expect.poll(moving).toBe(0);
  await ann.page.keyboard.press("Escape");
  await ann.sees("Stopped by you");
});
