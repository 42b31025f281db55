// Settings: of a session, of those that come, and of the page. What is chosen holds at once, and says so.

import { afterAll, beforeAll, expect, test } from "vitest";

import { comeAndStart, faultsOf, openPanel, picture } from "./at-panel";
import { Server } from "./server";
import { part, type Visitor } from "./visitor";

let server: Server;
beforeAll(async () => {
  server = await Server.start({ script: { replies: [], afterwards: { blocks: [{ type: "text", text: "Here I am." }] } } });
});
afterAll(() => part(server));

const status = ({ page }: Visitor) => page.getByRole("group", { name: "Status" });

test("model, permission mode, effort and thinking of a session change at once, also in the status bar", async () => {
  const visitor = await comeAndStart(server);
  await visitor.say("hello");
  await visitor.sees("Here I am.");
  const panel = await openPanel(visitor, "Settings");
  await panel.getByRole("combobox", { name: "Model" }).selectOption({ label: "Opus 5.5" });
  await panel.getByText("Changed to Opus 5.5").waitFor();
  await status(visitor).getByText("Opus 5.5").waitFor();
  for (const sentence of [/^Asks before changing files/, /^Reads and plans only/, /^A second model decides/]) await panel.getByText(sentence).waitFor();
  await panel.getByRole("radio", { name: /^Plan/ }).click();
  await panel.getByText("Changed to Plan").waitFor();
  await status(visitor).getByText("Plan", { exact: true }).waitFor();
  await panel.getByRole("combobox", { name: "Effort" }).selectOption("high");
  await panel.getByText("Changed to High").waitFor();
  await panel.getByRole("combobox", { name: "Thinking" }).selectOption({ label: "Other…" });
  await panel.getByRole("textbox", { name: "Thinking tokens" }).fill("7777");
  await panel.getByRole("button", { name: "Set" }).click();
  await status(visitor).getByText(/effort high · thinking 7,777/).waitFor();
  await panel.getByText("Set when a session starts.").waitFor();
  await picture(visitor, "settings");
  await panel.getByRole("combobox", { name: "Model" }).selectOption({ label: "Other…" });
  await panel.getByRole("textbox", { name: "Model name" }).fill("my-own-model");
  await panel.getByRole("button", { name: "Set" }).click();
  await status(visitor).getByText("my-own-model").waitFor();
  await panel.getByRole("combobox", { name: "Model" }).selectOption({ label: "Other…" });
  await panel.getByRole("textbox", { name: "Model name" }).fill("-no-model");
  await panel.getByRole("button", { name: "Set" }).click();
  await panel.getByRole("alert").getByText(/^Could not change to -no-model: /).waitFor();
  expect(await panel.getByRole("combobox", { name: "Model" }).inputValue()).toBe("my-own-model");
  await picture(visitor, "settings-refused");
  expect(await faultsOf(visitor.page, "aside")).toEqual([]);
  await visitor.leave();
});

test("defaults for new sessions are stored by the server", async () => {
  const visitor = await comeAndStart(server);
  let panel = await openPanel(visitor, "Settings");
  await panel.getByRole("tab", { name: "New sessions" }).click();
  await panel.getByRole("radio", { name: /^Accept edits/ }).click();
  await panel.getByText("Changed to Accept edits").waitFor();
  await panel.getByRole("combobox", { name: "Effort" }).selectOption("low");
  await panel.getByText("Changed to Low").waitFor();
  const style = panel.getByRole("combobox", { name: "Output style" });
  await style.selectOption({ label: "Explanatory" });
  await panel.getByText("Changed to Explanatory").waitFor();
  await visitor.page.reload();
  panel = await openPanel(visitor, "Settings");
  await panel.getByRole("tab", { name: "This session" }).press("ArrowRight");
  await expect.poll(() => panel.getByRole("radio", { name: /^Accept edits/ }).isChecked()).toBe(true);
  expect(await panel.getByRole("combobox", { name: "Effort" }).inputValue()).toBe("low");
  await visitor.page.keyboard.press("Escape");
  await visitor.startSession();
  await status(visitor).getByText("Accept edits", { exact: true }).waitFor();
  panel = await openPanel(visitor, "Settings");
  await panel.getByText("Explanatory", { exact: true }).waitFor();
  await visitor.leave();
});

test("the theme follows the system, or the choice", async () => {
  const visitor = await comeAndStart(server);
  const panel = await openPanel(visitor, "Settings");
  const paper = () => visitor.page.evaluate("getComputedStyle(document.body).backgroundColor");
  const light = await paper();
  await visitor.page.emulateMedia({ colorScheme: "dark" });
  await expect.poll(paper).not.toBe(light);
  await visitor.page.emulateMedia({ colorScheme: "light" });
  await expect.poll(paper).toBe(light);
  await panel.getByRole("combobox", { name: "Theme" }).selectOption({ label: "Dark" });
  await expect.poll(paper).not.toBe(light);
  await picture(visitor, "settings-dark");
  expect(await faultsOf(visitor.page, "aside")).toEqual([]);
  await visitor.page.reload();
  await expect.poll(paper).not.toBe(light);
  await visitor.leave();
});
