// Two devices at one question: the first answer counts, and the other device shows it.

import { afterAll, beforeAll, expect, test } from "vitest";

import { after, on, use, words } from "./replies";
import { Server } from "./server";
import { part, PHONE, Visitor } from "./visitor";

let server: Server;

beforeAll(async () => {
  const replies = [on("Ask both", words("Both see it."), use("Bash", { command: "touch both.txt" })), after("Both see it.", words("One has answered.")), on("Ask again", words("Who may?"), use("Bash", { command: "touch again.txt" })), after("Who may?", words("Somebody may."))];
  server = await Server.start({ script: { replies, afterwards: { blocks: [words("Heard.")] } } });
});
afterAll(() => part(server));

test("an answer given on a phone closes the prompt on the desktop, and says so", async () => {
  const desk = await Visitor.come(server);
  await desk.startSession();
  const phone = await Visitor.come(server, { size: PHONE, touch: true });
  await phone.page.goto(desk.page.url());
  await desk.say("Ask both");
  await desk.page.getByRole("alertdialog").waitFor();
  await phone.page.getByRole("alertdialog").getByRole("button", { name: "Allow once" }).click();
  await desk.page.getByRole("alertdialog").waitFor({ state: "detached" });
  await desk.page.getByText(/^Answered on /).waitFor();
  await desk.sees(/Allowed Bash on /);
  await desk.sees("One has answered.");
  await phone.sees("One has answered.");
  expect(await phone.page.getByText(/^Answered on /).count()).toBe(0);
  await phone.leave();
  await desk.leave();
});

test("a view-only device sees the question and why it cannot answer or write", async () => {
  const owner = await Visitor.come(server);
  await owner.startSession();
  const link = await owner.page.evaluate(async () => {
    const answer = await fetch("/api/links", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ scopes: ["view"] }) });
    return ((await answer.json()) as { link: string }).link;
  });
  const guest = await Visitor.come(server, {}, `${server.origin}/#link=${link}`);
  await guest.page.goto(owner.page.url());
  await guest.page.getByText("This device can view sessions but not send messages.").waitFor();
  await owner.say("Ask again");
  const dialog = guest.page.getByRole("alertdialog");
  await dialog.getByText("This device can only view sessions.").waitFor();
  await dialog.press("y");
  await guest.page.keyboard.press("Escape");
  expect(await dialog.getByRole("button", { name: "Allow once" }).isDisabled()).toBe(true);
  await owner.page.getByRole("alertdialog").getByRole("button", { name: "Allow once" }).click();
  await guest.sees("Somebody may.");
  await guest.leave();
  await owner.leave();
});
