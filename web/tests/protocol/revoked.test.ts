// A revoked device does not reconnect.

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Refused } from "../../src/protocol/api";
import { Page } from "./page";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a device revoked while connected does not reconnect, and pending commands fail", async () => {
  const page = new Page();
  const line = await page.comes();
  const refused = expect(page.socket.command("stop", { session: "s" })).rejects.toMatchObject({ code: "revoked" });
  line.breaks("this device was revoked", 4401);
  await refused;
  await vi.advanceTimersByTimeAsync(120_000);
  expect(page.lines).toHaveLength(1);
  expect(page.links.at(-1)).toMatchObject({ state: "refused", code: "revoked", reason: "this device was revoked" });
});

test("a device revoked before it connects has the code of the refusal; another 401 is a missing login", async () => {
  for (const code of ["revoked", "no_login"]) {
    const page = new Page();
    page.ticket = () => Promise.reject(new Refused(401, code, "no"));
    await page.socket.connect();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(page.links.at(-1)).toMatchObject({ state: "refused", code });
    expect(page.links.filter((link) => link.state === "connecting")).toHaveLength(1);
  }
});

test("a socket closed with the same code for another reason reconnects", async () => {
  const page = new Page();
  (await page.comes()).breaks("say hello first", 4401);
  expect(page.state).toBe("lost");
});

test("a revoked device that opens a new link connects again", async () => {
  const page = new Page();
  (await page.comes()).breaks("this device was revoked", 4401);
  await page.comes();
  expect(page.state).toBe("open");
});
