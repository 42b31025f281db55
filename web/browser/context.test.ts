// The context: how full it is, what fills it, a warning when it is nearly full, and compacting it.

import { afterAll, beforeAll, expect, test } from "vitest";

import { comeAndStart, faultsOf, picture } from "./at-panel";
import { Server } from "./server";
import { part } from "./visitor";

let server: Server;
beforeAll(async () => {
  server = await Server.start({
    script: {
      replies: [
        { blocks: [{ type: "text", text: "A little." }], usage: { input_tokens: 340_000 } },
        { blocks: [{ type: "text", text: "Very much." }], usage: { input_tokens: 870_000 } },
      ],
      afterwards: { blocks: [{ type: "text", text: "That was all." }] },
      helper: { blocks: [{ type: "text", text: "A summary of what was said." }] },
    } as never,
  });
});
afterAll(() => part(server));

test("the gauge shows usage, warns over 80 %, and one click compacts", async () => {
  const visitor = await comeAndStart(server);
  const { page } = visitor;
  await visitor.say("one");
  await visitor.sees("A little.");
  await page.getByRole("button", { name: "Context 34 %" }).click();
  const panel = page.getByRole("complementary", { name: "Context" });
  await panel.getByText(/^34 % 3\d\d,\d+ of 1,000,000 tokens/).waitFor();
  await panel.getByRole("meter", { name: "Context used" }).waitFor();
  const table = panel.getByRole("table", { name: "Breakdown" });
  await table.getByRole("rowheader", { name: "System prompt" }).waitFor();
  await table.getByRole("rowheader", { name: "Free space" }).waitFor();
  expect(await panel.getByRole("alert").count()).toBe(0);
  await picture(visitor, "context");

  await visitor.say("two");
  await visitor.sees("Very much.");
  await page.getByRole("button", { name: "Context 87 %, almost full" }).waitFor();
  await panel.getByRole("alert").getByText(/The context is 87 % full/).waitFor();
  await picture(visitor, "context-full");
  expect(await faultsOf(page, "aside")).toEqual([]);
  await panel.getByRole("button", { name: "Compact now" }).click();
  await visitor.sees(/^Context compacted/);
  await panel.getByRole("heading", { name: "Compactions" }).waitFor();
  await panel.getByText("manual", { exact: true }).waitFor();
  await expect.poll(() => panel.getByRole("alert").count()).toBe(0);
  await picture(visitor, "context-compacted");
  await visitor.leave();
});
