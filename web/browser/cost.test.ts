// What a session costs: in the status bar the sum and the last turn, opened by model and with the time.

import { afterAll, beforeAll, expect, test } from "vitest";

import { comeAndStart, faultsOf, picture } from "./at-panel";
import { Server } from "./server";
import { part, PHONE } from "./visitor";

let server: Server;
beforeAll(async () => {
  const usage = { input_tokens: 100_000, output_tokens: 1000, cache_read_input_tokens: 5000 };
  server = await Server.start({ script: { replies: [], afterwards: { blocks: [{ type: "text", text: "Paid." }], usage } } });
});
afterAll(() => part(server));

test("the total grows with each turn, beside the cost of the turn, and opens by model", async () => {
  const visitor = await comeAndStart(server);
  const { page } = visitor;
  const button = page.getByRole("button", { name: /^Cost/ });
  expect(await button.count()).toBe(0);
  await visitor.say("one");
  await visitor.sees("Paid.");
  await button.getByText(/^\$0\.2\d$/).or(button).first().waitFor();
  const sum = async () => Number(/\$([\d.]+)/.exec(await button.innerText())![1]);
  const first = await sum();
  expect(first).toBeGreaterThan(0);
  await visitor.say("two");
  await expect.poll(sum).toBeCloseTo(2 * first, 2);
  expect(Number(/\+\$([\d.]+)/.exec(await button.innerText())![1])).toBeCloseTo(first, 2);
  await button.click();
  const region = page.getByRole("region", { name: "Cost" });
  const table = region.getByRole("table", { name: "By model" });
  await table.getByRole("row", { name: /claude-opus.* 200k 2k 10k/ }).waitFor();
  await region.getByRole("row", { name: /^Total turn time/ }).waitFor();
  await picture(visitor, "cost");
  expect(await faultsOf(page, ".status-bar")).toEqual([]);
  await page.keyboard.press("Escape");
  await region.waitFor({ state: "detached" });
  await visitor.leave();
});

test("on a phone it stays inside the screen", async () => {
  const visitor = await comeAndStart(server, { size: PHONE, touch: true });
  await visitor.say("one");
  await visitor.sees("Paid.");
  await visitor.page.getByRole("button", { name: /^Cost/ }).tap();
  const box = (await visitor.page.getByRole("region", { name: "Cost" }).boundingBox())!;
  expect(box.x).toBeGreaterThanOrEqual(0);
  expect(box.x + box.width).toBeLessThanOrEqual(PHONE.width);
  await picture(visitor, "cost-phone");
  await visitor.leave();
});
