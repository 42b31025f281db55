// The connection: after any failure each event is delivered once, each command is executed once, and the page knows the state.

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Refused } from "../../src/protocol/api";
import type { Event, SessionShown } from "../../src/protocol/messages";
import { newId } from "../../src/protocol/socket";
import { Page } from "./page";

const record = { id: "s" } as SessionShown;
const subscribed = (verdict: "replayed" | "snapshot", last: number) => ({ type: "subscribed", session: "s", verdict, reason: "", first: 1, last, record }) as const;
const events = (...seqs: (number | undefined)[]) => ({ type: "events", session: "s", events: seqs.map((seq): Event => (seq === undefined ? { kind: "live", data: {} } : { kind: "frame", seq, data: {} })) }) as const;
const seqs = (page: Page) => page.told.map((event) => event.seq);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("it says hello, watches the list, reports visibility, and subscribes to the shown session", async () => {
  const page = new Page();
  page.socket.visible(true);
  page.socket.follow("s", 400);
  const line = await page.comes();
  expect(line.heard).toEqual([{ type: "hello", protocol: 1 }, { type: "watch" }, { type: "visible", visible: true }, { type: "subscribe", session: "s", after: 0, tail: 400 }]);
  expect(page.links.map((link) => link.state)).toEqual(["connecting", "open"]);
});

test("a cut is reported at once with the time of the retry; delays grow up to a limit until the server answers", async () => {
  const page = new Page();
  (await page.comes()).breaks("gone");
  expect(page.links.at(-1)).toMatchObject({ state: "lost", reason: "gone" });
  const pauses: number[] = [];
  for (let count = 0; count < 10; count += 1) {
    pauses.push(page.links.at(-1)!.retryAt - Date.now());
    await vi.advanceTimersByTimeAsync(pauses.at(-1)! + 1);
    page.lines.at(-1)!.breaks();
  }
  expect(page.lines).toHaveLength(11);
  expect(pauses[0]).toBeLessThan(400);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(15_000 * 1.25);
  expect(pauses[9]).toBeGreaterThan(10_000);
  await page.comes();
  page.lines.at(-1)!.breaks();
  expect(page.links.at(-1)!.retryAt - Date.now()).toBeLessThan(400);
});

test("after a cut it continues after the last received event", async () => {
  const page = new Page();
  page.socket.follow("s", 400);
  const first = await page.comes();
  first.says(subscribed("snapshot", 2));
  first.says(events(1, 2, undefined));
  first.breaks();
  const second = await page.comes();
  expect(second.of("subscribe")).toMatchObject([{ session: "s", after: 2 }]);
  second.says(subscribed("replayed", 4));
  second.says(events(3, 4));
  expect(seqs(page)).toEqual([1, 2, undefined, 3, 4]);
  expect(page.fresh).toEqual([true, false]);
});

test("an event that is replayed and live is delivered once", async () => {
  const page = new Page();
  page.socket.follow("s", 400);
  const line = await page.comes();
  line.says(subscribed("replayed", 3));
  line.says(events(1, 2, 3));
  line.says(events(2, 3, undefined, 4));
  line.says(events(4));
  expect(seqs(page)).toEqual([1, 2, 3, undefined, 4]);
});

test("a snapshot replaces the known events, and its events are delivered regardless of their numbers", async () => {
  const page = new Page();
  page.socket.follow("s", 400);
  const line = await page.comes();
  line.says(subscribed("replayed", 9));
  line.says(events(8, 9));
  line.says(subscribed("snapshot", 5));
  line.says(events(4, 5));
  expect(seqs(page)).toEqual([8, 9, 4, 5]);
  expect(page.fresh).toEqual([true, true]);
});

test("a slow client subscribes again after its last event, and reloads the list", async () => {
  const page = new Page();
  page.socket.follow("s", 400);
  const line = await page.comes();
  line.says(subscribed("replayed", 7));
  line.says(events(7));
  line.says({ type: "resync", session: "s", reason: "slow" });
  line.says({ type: "resync", session: "other", reason: "slow" });
  expect(line.of("subscribe").map((one) => one.after)).toEqual([0, 7]);
  line.says({ type: "resync", session: "", reason: "slow" });
  expect([page.lists, line.of("watch").length]).toEqual([1, 2]);
});

test("a session whose machine is unreachable is requested again without an error", async () => {
  const page = new Page();
  page.socket.follow("s", 400);
  const line = await page.comes();
  line.says({ type: "error", code: "cluster_away", message: "NATS does not answer", session: "s" });
  expect(line.of("subscribe")).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(2000);
  expect(line.of("subscribe")).toHaveLength(2);
  line.says({ type: "error", code: "cluster_away", message: "NATS does not answer", session: "s" });
  page.socket.unfollow("s");
  await vi.advanceTimersByTimeAsync(2000);
  expect(line.of("subscribe")).toHaveLength(2);
});

test("events of a session that is no longer shown are dropped", async () => {
  const page = new Page();
  page.socket.follow("s", 400);
  const line = await page.comes();
  line.says(subscribed("replayed", 1));
  page.socket.unfollow("s");
  page.socket.unfollow("s");
  line.says(subscribed("replayed", 2));
  line.says(events(2));
  expect(page.told).toEqual([]);
  expect(line.of("unsubscribe")).toHaveLength(1);
});

test("a command without a receipt is sent again with the same id", async () => {
  const page = new Page();
  const first = await page.comes();
  const done = page.socket.command("interrupt", { session: "s" });
  first.breaks();
  const second = await page.comes();
  const [before, again] = [first.of("command")[0]!, second.of("command")[0]!];
  expect(again).toEqual(before);
  second.says({ type: "receipt", id: again.id, ok: true, result: { a: 1 } });
  expect(await done).toEqual({ a: 1 });
  second.breaks();
  expect((await page.comes()).of("command")).toEqual([]);
});

test("a command given offline is sent after the reconnect", async () => {
  const page = new Page();
  void page.socket.command("interrupt", { session: "s" });
  expect((await page.comes()).of("command")).toMatchObject([{ command: "interrupt", fields: { session: "s" } }]);
});

test("a refusal carries the server's message; an unknown receipt is ignored", async () => {
  const page = new Page();
  const line = await page.comes();
  const done = page.socket.command("interrupt", { session: "s" });
  line.says({ type: "receipt", id: "other", ok: true });
  line.says({ type: "receipt", id: line.of("command")[0]!.id, ok: false, error: { code: "not_found", message: "session s not found" } });
  await expect(done).rejects.toMatchObject({ message: "session s not found", code: "not_found" });
});

test("a command that a machine did not answer is sent again with the same id until it is done", async () => {
  const page = new Page();
  const line = await page.comes();
  const done = page.socket.command("send", { session: "s", text: "hello" });
  const { id } = line.of("command")[0]!;
  line.says({ type: "receipt", id, ok: false, error: { code: "unreachable", message: "worker-2 does not answer" } });
  await vi.advanceTimersByTimeAsync(999);
  expect(line.of("command")).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(line.of("command").map((one) => one.id)).toEqual([id, id]);
  line.says({ type: "receipt", id, ok: true, result: { uuid: "u" } });
  expect(await done).toEqual({ uuid: "u" });
  await vi.advanceTimersByTimeAsync(60_000);
  expect([line.of("command").length, page.refusals]).toEqual([2, [["unreachable", 0]]]);
});

test("a command without an answer for longer than the lease of a machine fails with an error", async () => {
  const page = new Page();
  const line = await page.comes();
  const done = page.socket.command("interrupt", { session: "s" });
  const refused = expect(done).rejects.toMatchObject({ code: "unreachable", message: "worker-2 does not answer" });
  const { id } = line.of("command")[0]!;
  for (const pause of [1000, 4000, 12_000, 0]) {
    line.says({ type: "receipt", id, ok: false, error: { code: "unreachable", message: "worker-2 does not answer" } });
    line.says({ type: "heartbeat", time: 1 });
    await vi.advanceTimersByTimeAsync(pause);
  }
  await refused;
  expect(line.of("command").map((one) => one.id)).toEqual([id, id, id, id]);
  expect(page.refusals.map(([, tries]) => tries)).toEqual([0, 1, 2, 3]);
});

test("a command may be given the id of one that may have been done", async () => {
  const page = new Page();
  const line = await page.comes();
  void page.socket.command("send", { session: "s", text: "hello" }, "the-same");
  expect(line.of("command")).toMatchObject([{ id: "the-same" }]);
});

test("a silent connection is abandoned", async () => {
  const page = new Page();
  const line = await page.comes();
  await vi.advanceTimersByTimeAsync(60_000);
  line.says({ type: "heartbeat", time: 1 });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(page.state).toBe("open");
  await vi.advanceTimersByTimeAsync(15_001);
  expect([line.closed, page.lines.length > 1 || page.state === "lost"]).toEqual([true, true]);
});

test("a connection that does not open and a ticket that does not arrive are abandoned", async () => {
  const page = new Page();
  await page.socket.connect();
  await vi.advanceTimersByTimeAsync(10_001);
  expect(page.lines[0]!.closed).toBe(true);
  const other = new Page();
  other.ticket = () => new Promise(() => undefined);
  void other.socket.connect();
  await vi.advanceTimersByTimeAsync(10_001);
  expect(other.state).toBe("lost");
  other.ticket = () => Promise.resolve("secret");
  await vi.advanceTimersByTimeAsync(1000);
  expect(other.lines).toHaveLength(1);
});

test("a server that does not answer a probe is abandoned within seconds", async () => {
  const page = new Page();
  const line = await page.comes();
  page.socket.probe();
  expect(line.of("ping")).toHaveLength(1);
  line.says({ type: "heartbeat", time: 1 });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(page.state).toBe("open");
  page.socket.probe();
  await vi.advanceTimersByTimeAsync(3001);
  expect(line.closed).toBe(true);
});

test("a probe without a connection connects at once", async () => {
  const page = new Page();
  (await page.comes()).breaks();
  page.socket.probe();
  await vi.advanceTimersByTimeAsync(0);
  expect(page.lines).toHaveLength(2);
});

test("an unknown device is reported, and does not retry until it opens a link", async () => {
  const page = new Page();
  page.ticket = () => Promise.reject(new Refused(401, "unauthorized", "come by a link"));
  await page.socket.connect();
  expect(page.links.at(-1)).toMatchObject({ state: "refused", reason: "come by a link" });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(page.lines).toEqual([]);
  page.ticket = () => Promise.resolve("secret");
  await page.comes();
  expect(page.state).toBe("open");
});

test("a server that is offline is retried", async () => {
  const page = new Page();
  page.ticket = () => Promise.reject(new Refused(0, "unreachable", "the server cannot be reached"));
  await page.socket.connect();
  expect(page.links.at(-1)).toMatchObject({ state: "lost", reason: "the server cannot be reached" });
  page.ticket = () => Promise.resolve("secret");
  await vi.advanceTimersByTimeAsync(1000);
  expect(page.lines).toHaveLength(1);
});

test("the end of an abandoned connection does not affect the next one", async () => {
  const page = new Page();
  const old = await page.comes();
  const { onclose } = old;
  page.socket.reset();
  const next = await page.comes();
  onclose?.({ code: 1006, reason: "late" });
  old.breaks();
  expect([old.closed, next.closed, page.state]).toEqual([true, false, "open"]);
});

test("two requests share one connection", async () => {
  const page = new Page();
  await Promise.all([page.socket.connect(), page.socket.connect()]);
  await page.socket.connect();
  expect(page.lines).toHaveLength(1);
});

test("an unreadable frame ends the connection, not the page", async () => {
  const page = new Page();
  const line = await page.comes();
  line.onmessage?.({ data: "{" });
  expect([line.closed, page.state]).toEqual([true, "lost"]);
});

test("a missing session is reported by its name", async () => {
  const page = new Page();
  const line = await page.comes();
  line.says({ type: "error", code: "not_found", message: "session s not found", session: "s" });
  line.says({ type: "error", code: "bad", message: "what?" });
  expect(page.problems).toEqual([["session s not found", "s"], ["what?", ""]]);
});

test("ids are UUIDs, and never the same", () => {
  expect(newId()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(newId()).not.toBe(newId());
});
