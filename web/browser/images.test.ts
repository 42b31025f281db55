// Pictures: chosen, pasted, dropped; what may not go is refused with the reason before anything is sent.

import { afterAll, beforeAll, expect, test } from "vitest";

import { on, words } from "./replies";
import { Server } from "./server";
import { part, Visitor } from "./visitor";

const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

const LINES = Array.from({ length: 60 }, (_, at) => `Line ${at + 1}.`);

let server: Server;
let visitor: Visitor;

beforeAll(async () => {
  server = await Server.start({ script: { replies: [on("Count", words(LINES.join("\n\n")))], afterwards: { blocks: [words("Seen.")] } } });
  visitor = await Visitor.come(server);
  visitor.page.setDefaultTimeout(15_000);
});
afterAll(() => part(server, visitor));

const begin = () => visitor.startSession();

const choose = (name: string, buffer: Buffer, mimeType = "image/png") => visitor.page.locator("input[type=file]").setInputFiles({ name, mimeType, buffer });

/** As a browser hands over what is pasted or dropped. */
async function hand(kind: "paste" | "drop", name: string): Promise<void> {
  await visitor.composer.evaluate(
    (field, { kind, name, bytes }) => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array(bytes)], name, { type: "image/png" }));
      field.dispatchEvent(kind === "paste" ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }) : new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    },
    { kind, name, bytes: [...PNG] },
  );
}

test("images are chosen, pasted and dropped, one is removed, the others are sent", async () => {
  await begin();
  const pictures = visitor.page.getByRole("list", { name: "Images" });
  await choose("chosen.png", PNG);
  await hand("paste", "pasted.png");
  await hand("drop", "dropped.png");
  for (const name of ["chosen.png", "pasted.png", "dropped.png"]) await pictures.getByRole("img", { name }).waitFor();
  await visitor.page.getByRole("button", { name: "Remove pasted.png" }).click();
  expect(await pictures.getByRole("listitem").count()).toBe(2);
  await visitor.composer.fill("two pictures");
  await visitor.page.getByRole("button", { name: "Send" }).click();
  await visitor.sees("Seen.");
  expect(await visitor.log.locator(".said img").count()).toBe(2);
  expect(await pictures.count()).toBe(0);
});

test("other files and large images are refused with the reason", async () => {
  await begin();
  await choose("page.png", Buffer.from("<svg onload=alert(1)>"));
  await visitor.page.getByText("page.png is not a supported image").waitFor();
  await choose("huge.png", Buffer.concat([PNG, Buffer.alloc(6 * 1024 * 1024)]));
  await visitor.page.getByText("huge.png is 6.0 MiB. The limit is 5 MiB per image.").waitFor();
  expect(await visitor.page.getByRole("list", { name: "Images" }).count()).toBe(0);
});

test("sending scrolls to the message, also with images and from further up", async () => {
  await begin();
  await visitor.say("Count");
  await visitor.sees("Line 60.");
  const below = visitor.page.getByRole("button", { name: "Scroll to end" });
  await expect.poll(async () => {
    await visitor.log.locator(".rows").evaluate((rows) => rows.scrollTo(0, 0)); // again: the last rows may still come, and follow the end
    return below.isVisible();
  }, { timeout: 15_000 }).toBe(true);
  await choose("chosen.png", PNG);
  await visitor.page.getByRole("list", { name: "Images" }).getByRole("img", { name: "chosen.png" }).waitFor();
  await visitor.composer.fill("the last words");
  await visitor.page.getByRole("button", { name: "Send" }).click();
  await visitor.sees("the last words");
  await below.waitFor({ state: "detached" });
});
