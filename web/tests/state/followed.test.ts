// A followed session: frames, older pages, dropped events.

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { Event, ServerSubscribed } from "../../src/protocol/messages";
import { Followed } from "../../src/state/followed";
import { replay } from "../../src/state/reduce";
import { eventsOf, linesOf, nameOf, onRecord, recordings } from "./recording";
import { kinds, Telling } from "./telling";

const subscribed = (last: number, first = 1): ServerSubscribed => ({ type: "subscribed", session: "s", verdict: "snapshot", reason: "", first, last, record: {} as ServerSubscribed["record"] });

/** The server's pages: the newest before a number. */
function serve(record: readonly Event[], most = Number.POSITIVE_INFINITY): string[] {
  const asked: string[] = [];
  vi.stubGlobal("fetch", (path: string) => {
    asked.push(path);
    const query = new URL(path, "http://x").searchParams;
    const [before, limit] = [Number(query.get("before")), Math.min(most, Number(query.get("limit")))];
    const events = record.filter((event) => event.seq! < before).slice(-limit);
    return Promise.resolve(new Response(JSON.stringify({ session: "s", first: record[0]!.seq, last: record.at(-1)!.seq, events })));
  });
  return asked;
}

const frames: FrameRequestCallback[] = [];
const drawn = () => frames.splice(0).forEach((frame) => frame(0));
const shown = (followed: Followed) => followed.use.getState();

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  vi.stubGlobal("requestAnimationFrame", (frame: FrameRequestCallback) => frames.push(frame));
});
afterEach(() => {
  frames.length = 0;
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Wait for something that lets others have their turn meanwhile. */
async function settled<Answer>(working: Promise<Answer>): Promise<Answer> {
  const ended = { yet: false };
  const end = () => void (ended.yet = true);
  working.then(end, end);
  while (!ended.yet) await vi.advanceTimersByTimeAsync(1);
  return working;
}

function tail(record: readonly Event[], count: number): Followed {
  const followed = new Followed("s");
  followed.subscribed(subscribed(record.at(-1)!.seq!, record[0]!.seq), true);
  followed.take(record.slice(-count));
  drawn();
  return followed;
}

const long = (count: number): Event[] => {
  const telling = new Telling().init();
  while (telling.events.length < count) telling.assistant(`words ${telling.events.length}`, { message: { id: `m${telling.events.length}`, content: `words ${telling.events.length}` } });
  return telling.events;
};

test("events between two frames are drawn together", () => {
  const followed = new Followed("s");
  let changes = 0;
  followed.subscribed(subscribed(2), true);
  followed.use.subscribe(() => (changes += 1));
  const { events } = new Telling().init().assistant("a").assistant("b");
  for (const event of events) followed.take([event]);
  expect([changes, frames.length]).toEqual([0, 1]);
  drawn();
  expect(changes).toBe(1);
  expect(kinds(shown(followed).state.rows)).toEqual(["a", "b"]);
});

test("a hidden tab draws no frames, and stays up to date", async () => {
  const followed = new Followed("s");
  followed.take(new Telling().init().assistant("a").events);
  await vi.advanceTimersByTimeAsync(200);
  expect(kinds(shown(followed).state.rows)).toEqual(["a"]);
  const { events } = new Telling(2).start().block(0, { type: "text", text: "" });
  followed.take([...events, ...Array.from({ length: 3000 }, () => new Telling().delta(0, { type: "text_delta", text: "x" }).events[0]!)]);
  expect(shown(followed).state.live).toMatchObject([{ text: "x".repeat(3000) }]);
});

test("an empty session is ready at once, a full one with its first events", () => {
  const empty = new Followed("s");
  empty.subscribed(subscribed(0), true);
  expect(shown(empty).ready).toBe(true);
  const full = new Followed("s");
  full.subscribed(subscribed(9), true);
  expect(shown(full).ready).toBe(false);
});

test("after a cut only the streaming block is drawn again", () => {
  const followed = new Followed("s");
  followed.subscribed(subscribed(2), true);
  const telling = new Telling().init().assistant("a").start("m2").block(0, { type: "text", text: "half" });
  followed.take(telling.events);
  followed.subscribed(subscribed(2), false); // also what waits for its frame is not lost
  expect(shown(followed).state.live).toEqual([]);
  const { rows } = shown(followed).state;
  followed.take(new Telling().start("m2").block(0, { type: "text", text: "half of" }).events);
  drawn();
  expect(shown(followed).state.rows).toBe(rows);
  expect(shown(followed).state.live).toMatchObject([{ text: "half of" }]);
});

test("a snapshot replaces the state", () => {
  const followed = tail(long(50), 50);
  followed.clear();
  followed.subscribed(subscribed(3), true);
  expect(shown(followed)).toMatchObject({ ready: false, from: 0, cleared: 0, state: { rows: [] } });
});

test("older events arrive page by page and give the same state as all at once", async () => {
  const record = long(9000);
  serve(record, 1000);
  const followed = tail(record, 400);
  expect(shown(followed)).toMatchObject({ first: 1, from: 8601 });
  let more = true;
  for (let count = 0; more; count += 1) {
    expect(count).toBeLessThan(10);
    more = await settled(followed.older());
  }
  expect(shown(followed).from).toBe(1);
  expect(shown(followed).state).toEqual(replay(record));
  expect(await followed.older()).toBe(false);
});

test.each(recordings().slice(0, 25).map((file) => [nameOf(file), file]))("older pages in front of any part of %s make the whole", async (_name, file) => {
  const record = onRecord(eventsOf(linesOf(file)));
  const whole = replay(record);
  for (const count of [1, 2, Math.floor(record.length / 2), record.length - 1]) {
    serve(record, 3);
    const followed = tail(record, count);
    while (await settled(followed.older()));
    expect(shown(followed).state, `the newest ${count}`).toEqual(whole);
  }
});

test("older events do not rename rows, so nothing is drawn again", async () => {
  const record = long(600);
  serve(record);
  const followed = tail(record, 100);
  const before = shown(followed).state.rows.map((row) => row.key);
  await settled(followed.older());
  expect(shown(followed).state.rows.map((row) => row.key).slice(-before.length)).toEqual(before);
});

test("events during the load of older ones are neither lost nor duplicated, and the streaming block stays", async () => {
  const record = long(6000);
  serve(record);
  const followed = tail(record, 400);
  followed.take(new Telling().start("m").block(0, { type: "text", text: "being written" }).events);
  drawn();
  const loading = followed.older();
  const later = new Telling(6000).assistant("later").events;
  let told = false;
  vi.spyOn(performance, "now").mockImplementation(() => {
    if (!told) followed.take(later);
    told = true;
    return Date.now();
  });
  await settled(loading);
  await vi.advanceTimersByTimeAsync(300);
  vi.restoreAllMocks();
  const { state } = shown(followed);
  expect(kinds(state.rows).filter((words) => words === "later")).toHaveLength(1);
  expect(state.last).toBe(6001);
  while (await settled(followed.older()));
  expect(shown(followed).state.rows).toEqual(replay([...record, ...later]).rows);
});

test("a view that was cleared stays so when older events come before it", async () => {
  const record = long(300);
  serve(record);
  const followed = tail(record, 100);
  followed.clear();
  await settled(followed.older());
  expect(shown(followed).cleared).toBe(shown(followed).state.rows.length);
  followed.showAll();
  expect(shown(followed).cleared).toBe(0);
});

test("a page requested before a snapshot is dropped", async () => {
  const record = long(300);
  serve(record);
  const followed = tail(record, 100);
  const loading = followed.older();
  followed.subscribed(subscribed(300), true);
  expect(await settled(loading)).toBe(false);
  expect(shown(followed)).toMatchObject({ loading: false, state: { rows: [] } });
});

test("a server that does not answer can be asked again", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new Error("away")));
  const record = long(300);
  const followed = tail(record, 100);
  expect(await followed.older()).toBe(false);
  serve(record);
  await settled(followed.older());
  expect(shown(followed)).toMatchObject({ from: 1, loading: false });
});

test("no more than so many events are held, however long a session runs", async () => {
  const followed = new Followed("s");
  const record = long(56_000);
  followed.subscribed(subscribed(56_000), true);
  for (let at = 0; at < record.length; at += 1000) followed.take(record.slice(at, at + 1000));
  drawn();
  await settled(vi.advanceTimersByTimeAsync(2000));
  expect(shown(followed).from).toBeGreaterThan(1);
  expect(shown(followed).state.rows.length).toBeLessThanOrEqual(55_000);
  expect(shown(followed).state.last).toBe(56_000);
  expect(await followed.older()).toBe(false);
});

test("a session that cannot be followed says why", () => {
  const followed = new Followed("s");
  followed.failed("session s not found");
  expect(shown(followed)).toMatchObject({ ready: true, problem: "session s not found" });
});

test("a result that is too large to come with the rest is fetched, and reaches its call", async () => {
  const { events } = new Telling().init().use("t1").returned("t1", "a picture").assistant("seen").result();
  const asked: string[] = [];
  vi.stubGlobal("fetch", (path: string) => {
    asked.push(path);
    return Promise.resolve(new Response(JSON.stringify(events[2])));
  });
  const followed = new Followed("s");
  followed.subscribed(subscribed(5), true);
  followed.take([...events.slice(0, 2), { kind: "frame", seq: 3, time: 3000, bytes: 700_000 }, ...events.slice(3)]);
  drawn();
  expect(kinds(shown(followed).state.rows)).toEqual(["call t1 done", "too_large", "seen", "end"]);
  await vi.advanceTimersByTimeAsync(50);
  expect(asked).toEqual(["/api/sessions/s/events/3"]);
  expect(shown(followed).state).toEqual(replay(events));
});

test("content that is too large or unavailable is shown by its size", async () => {
  const asked: string[] = [];
  vi.stubGlobal("fetch", (path: string) => (asked.push(path), Promise.reject(new Error("away"))));
  const followed = new Followed("s");
  followed.take([{ kind: "frame", seq: 1, time: 1, bytes: 50_000_000 }, { kind: "frame", seq: 2, time: 1, bytes: 700_000 }]);
  drawn();
  await vi.advanceTimersByTimeAsync(50);
  expect(asked).toEqual(["/api/sessions/s/events/2"]);
  expect(kinds(shown(followed).state.rows)).toEqual(["too_large", "too_large"]);
});

test("a session of a lost machine runs nothing until the machine returns", async () => {
  const { events } = new Telling().init().assistant("begun").use("t1");
  const followed = tail(events, 3);
  expect([shown(followed).state.turn.running, kinds(shown(followed).state.rows)]).toEqual([true, ["begun", "call t1 running"]]);
  followed.stands("interrupted");
  expect([shown(followed).state.turn.running, kinds(shown(followed).state.rows)]).toEqual([false, ["begun", "call t1 interrupted"]]);
  followed.take([{ kind: "frame", seq: 4, time: 4000, data: { type: "assistant", uuid: "late", message: { id: "m1", content: [{ type: "text", text: "late words" }] }, parent_tool_use_id: null } }]);
  drawn();
  expect([shown(followed).state.turn.running, kinds(shown(followed).state.rows)]).toEqual([false, ["begun", "call t1 interrupted", "late words"]]);
  followed.stands("running");
  await vi.advanceTimersByTimeAsync(10);
  expect([shown(followed).state.turn.running, kinds(shown(followed).state.rows)]).toEqual([true, ["begun", "call t1 running", "late words"]]);
});

test("older pages do not change that the machine is lost", async () => {
  const record = new Telling().init().assistant("old").assistant("new").use("t1").events;
  serve(record);
  const followed = tail(record, 2);
  followed.stands("interrupted");
  await settled(followed.older());
  expect([shown(followed).state.turn.running, kinds(shown(followed).state.rows)]).toEqual([false, ["old", "new", "call t1 interrupted"]]);
});

test("clearing the view while a block streams hides the block too, and keeps it hidden when complete", () => {
  const followed = new Followed("s");
  const telling = new Telling().init().assistant("old").start("m2").stream({ type: "content_block_start", index: 0, content_block: { type: "text", text: "new" } }, { api_message_id: "m2" });
  followed.take(telling.events);
  drawn();
  followed.clear();
  const streaming = shown(followed);
  expect([streaming.cleared, streaming.state.rows.length, streaming.state.live.length]).toEqual([2, 1, 1]);
  followed.take(new Telling(2).assistant("new", { message: { id: "m2", content: "new" } }).assistant("later", { message: { id: "m3", content: "later" } }).events);
  drawn();
  expect(kinds(shown(followed).state.rows.slice(shown(followed).cleared))).toEqual(["later"]);
});
