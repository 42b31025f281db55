// The inspector: raw frames in both directions while a session runs, found by text and direction, a request and its answer, a recording.

import { afterAll, beforeAll, expect, test } from "vitest";

import { comeAndStart, faultsOf, openPanel, picture } from "./at-panel";
import { Server } from "./server";
import { part } from "./visitor";

let server: Server;
beforeAll(async () => {
  server = await Server.start({ script: { replies: [], afterwards: { blocks: [{ type: "text", text: "Here I am." }] } } });
});
afterAll(() => part(server));

test("frames arrive live, can be filtered, link requests to answers, and can be recorded", async () => {
  const visitor = await comeAndStart(server);
  const { page } = visitor;
  await visitor.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await visitor.say("hello there");
  await visitor.sees("Here I am.");
  const panel = await openPanel(visitor, "Inspector");
  const lines = panel.getByRole("listitem");
  await lines.filter({ hasText: "control_request · initialize" }).first().waitFor();
  await picture(visitor, "inspector");
  expect(await faultsOf(page, "aside")).toEqual([]);

  await panel.getByRole("searchbox", { name: "Filter by text or type" }).fill("initialize");
  await lines.filter({ hasText: "control_request · initialize" }).getByRole("button", { name: "Go to the answer" }).click();
  await lines.filter({ hasText: "control_response · success" }).locator("pre").first().waitFor();

  await panel.getByRole("searchbox", { name: "Filter by text or type" }).fill("hello there");
  await panel.getByRole("combobox", { name: "Direction" }).selectOption({ label: "To the CLI" });
  await lines.filter({ hasText: "user" }).first().getByRole("button").first().click();
  await panel.locator("pre").getByText('"hello there"').first().waitFor();
  await picture(visitor, "inspector-open");

  await panel.getByRole("searchbox", { name: "Filter by text or type" }).fill("second word");
  await panel.getByText("No lines match the filter.").waitFor();
  await visitor.say("second word");
  await lines.filter({ hasText: "second word" }).first().waitFor();

  await panel.getByRole("button", { name: "Copy as recording" }).click();
  await page.getByText("Copied").first().waitFor();
  const recording = (await page.evaluate("navigator.clipboard.readText()")) as string;
  const parsed = recording.trim().split("\n").map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(parsed.length).toBeGreaterThan(5);
  expect(recording).toContain("second word");

  await panel.getByRole("combobox", { name: "Source" }).selectOption({ label: "Persisted events" });
  await lines.filter({ hasText: "said" }).first().waitFor();
  await visitor.leave();
});
