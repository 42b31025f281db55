// A picture that is too large to come with the other events: it is fetched, and its call is done.

import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";

import { afterAll, beforeAll, expect, test } from "vitest";

import { Server } from "./server";
import { begin } from "./session";
import { part, Visitor } from "./visitor";

/** A chunk of a picture, with its length and its sum. */
function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name), data]);
  const [size, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  size.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([size, body, sum]);
}

/** Noise: nothing packs it. */
function png(width: number, height: number): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const lines = Buffer.concat(Array.from({ length: height }, () => Buffer.concat([Buffer.from([0]), randomBytes(width * 3)])));
  return Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), chunk("IHDR", head), chunk("IDAT", deflateSync(lines)), chunk("IEND", Buffer.alloc(0))]);
}

let server: Server;
let visitor: Visitor;

beforeAll(async () => {
  const replies = [
    { when: { prompt: "picture" }, times: 1, blocks: [{ type: "text", text: "I look at it." }, { type: "tool_use", name: "Read", input: { file_path: "noise.png" } }] },
    { when: { said: "I look at it." }, times: 1, blocks: [{ type: "text", text: "It is noise." }] },
  ];
  server = new Server({ script: { replies } });
  writeFileSync(join(server.folder, "noise.png"), png(600, 400));
  await server.start();
  visitor = await Visitor.come(server);
  await begin(visitor);
});
afterAll(() => part(server, visitor));

test("a large image is shown at its call, also after a reload", async () => {
  await visitor.say("What is in the picture?");
  for (const again of [false, true]) {
    if (again) await visitor.page.reload();
    await visitor.sees("It is noise.");
    await expect.poll(() => visitor.log.getByText(/too large to show/).count()).toBe(0);
    const call = visitor.log.getByRole("button", { name: /noise\.png/ });
    expect(await call.textContent()).not.toMatch(/stopped|running|failed/);
    if ((await call.getAttribute("aria-expanded")) !== "true") await call.click();
    await visitor.log.locator("img").first().waitFor();
  }
  await visitor.leave();
});
