// The advanced part of the new-session form: limits on turns and cost, and a plugin folder.

import { afterAll, beforeAll, expect, test } from "vitest";

import { faultsOf, picture } from "./at-panel";
import { use, words } from "./replies";
import { Server } from "./server";
import { part, Visitor } from "./visitor";

let server: Server;
let ann: Visitor;

beforeAll(async () => {
  const replies = [{ when: { prompt: "look at it" }, times: 1, blocks: [words("I look."), use("Read", { file_path: "README.md" })] }];
  server = await Server.start({ files: { "README.md": "A project" }, script: { replies, afterwards: { blocks: [words("Seen.")] } } });
  ann = await Visitor.come(server);
});

afterAll(() => part(server, ann));

const dialog = () => ann.page.getByRole("dialog", { name: "New session" });

test("the advanced limits are validated and hold for the session", async () => {
  await ann.page.getByRole("button", { name: "New session" }).first().click();
  await dialog().getByText("Options").click();
  await dialog().getByText("Advanced").click();
  const start = dialog().getByRole("button", { name: "Start" });
  const [turns, budget, plugin] = ["Max turns", "Budget (USD)", "Plugin folder"].map((name) => dialog().getByRole("textbox", { name }));
  for (const [field, wrong, says] of [[turns!, "0", /whole number from 1 to 10000/], [budget!, "-1", /amount above 0/], [plugin!, "plugins", /absolute path that starts with/]] as const) {
    await field.fill(wrong);
    await dialog().getByRole("alert").getByText(says).waitFor();
    expect(await start.isDisabled()).toBe(true);
    await field.fill("");
  }
  expect(await dialog().getByRole("alert").count()).toBe(0);
  await turns!.fill("1");
  await budget!.fill("2.50");
  expect(await faultsOf(ann.page, "dialog")).toEqual([]);
  await picture(ann, "advanced");
  await dialog().getByRole("textbox", { name: /^(First message|First message)$/ }).fill("look at it");
  await start.click();
  await ann.composer.waitFor();
  await ann.log.locator(".turn-end.problem").getByText(/^Stopped: /).waitFor(); // after one call of the model
});

test("a plugin folder is offered only to devices with the admin scope", async () => {
  const made = await ann.context.request.post(`${server.origin}/api/links`, { data: { scopes: ["view", "prompt", "approve"] }, headers: { origin: server.origin } });
  const { link } = (await made.json()) as { link: string };
  const guest = await Visitor.come(server, {}, `${server.origin}/#link=${link}`);
  await guest.page.getByRole("button", { name: "New session" }).first().click();
  const form = guest.page.getByRole("dialog", { name: "New session" });
  await form.getByText("Options").click();
  await form.getByText("Advanced").click();
  await form.getByRole("textbox", { name: "Max turns" }).waitFor();
  expect(await form.getByRole("textbox", { name: "Plugin folder" }).count()).toBe(0);
  await guest.leave();
});
