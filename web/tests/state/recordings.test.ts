// For every recording of the real CLI: what was said is shown, once and in order; and it makes no difference how the events came.
// RECORDINGS=dir takes another folder of recordings.

import { describe, expect, test } from "vitest";

import type { Event } from "../../src/protocol/messages";
import { reduce, replay } from "../../src/state/reduce";
import { EMPTY, type Row, type State } from "../../src/state/state";
import { callsOf, chance, eventsOf, linesOf, nameOf, onRecord, recordings, SoFar, wordsOf } from "./recording";

/** Recordings with lines that no page can know: made up on purpose, or of a run that prints plain text. */
const UNKNOWN = ["unknown_type", "no_type", "p_stdin", "p_text", "p_version"];
const SETTLED = ["done", "failed", "denied", "declined", "interrupted"];

function flat(rows: readonly Row[], parent = ""): [string, Row][] {
  return rows.flatMap((row): [string, Row][] => (row.kind === "call" ? [[parent, row], ...flat(row.rows, row.id)] : [[parent, row]]));
}

/** The words shown, without those of lines in the user's name. */
function shown(state: State, users: ReadonlySet<string>): [string, string][] {
  return flat(state.rows).flatMap(([parent, row]): [string, string][] => (row.kind === "text" && !users.has(row.uuid) ? [[parent, row.text]] : []));
}

function byParent(words: [string, string][]): Record<string, string[]> {
  const all: Record<string, string[]> = {};
  for (const [parent, said] of words) (all[parent] ??= []).push(said);
  return all;
}

/** The state of a page whose line is cut before an event and made again. */
function cutAt(events: readonly Event[], cut: number): [State, State] {
  const soFar = new SoFar();
  let state = EMPTY;
  for (const event of events.slice(0, cut)) {
    soFar.take(event);
    state = reduce(state, [event]);
  }
  return [state, reduce({ ...state, live: [] }, soFar.events)];
}

const texts = (state: State) => flat(state.rows).flatMap(([, row]) => (row.kind === "text" ? [row.text] : []));
const typed = ({ live }: State) => live.map((row) => (row.kind === "call" ? [row.id, row.typed] : row.kind === "text" || row.kind === "thinking" ? row.text : row.kind));

describe.each(recordings().map((file) => [nameOf(file), file]))("%s", (name, file) => {
  const lines = linesOf(file);
  const events = eventsOf(lines);
  const whole = replay(onRecord(events));

  test("every answer is shown once and in order", () => {
    const users = new Set(lines.filter(({ msg }) => msg["type"] === "user").map(({ msg }) => String(msg["uuid"])));
    expect(byParent(shown(whole, users))).toEqual(byParent(wordsOf(lines)));
  });

  test("each call has its result, or says that it was stopped or denied", () => {
    const { called, settled } = callsOf(lines);
    const calls = flat(whole.rows).flatMap(([, row]) => (row.kind === "call" ? [row] : []));
    expect(calls.map((call) => call.id).toSorted()).toEqual([...new Set(called)].toSorted());
    for (const call of calls) {
      expect(SETTLED, call.id).toContain(call.status);
      if (settled.includes(call.id)) expect(call.ended, call.id).toBeGreaterThan(0);
    }
    expect(whole.open).toEqual([]);
  });

  test("only unknown lines are shown as unknown", () => {
    const unknown = flat(whole.rows).filter(([, row]) => row.kind === "unknown");
    if (!UNKNOWN.includes(name)) expect(unknown).toEqual([]);
  });

  test("every prompt is in the conversation once", () => {
    const said = events.filter((event) => event.kind === "said").map((event) => String(event.data!["uuid"]));
    const rows = whole.rows.flatMap((row) => (row.kind === "said" ? [row.uuid] : []));
    expect(rows.filter((uuid) => said.includes(uuid)).length + whole.queue.length).toBeLessThanOrEqual(said.length);
    expect(new Set(rows).size).toBe(rows.length);
    expect(whole.queue).toEqual([]);
    expect(whole.turn.running).toBe(false);
  });

  test("every row has a distinct name", () => {
    const keys = flat(whole.rows).map(([, row]) => row.key);
    expect(new Set(keys).size).toBe(keys.length);
  });

  test("live and replayed are the same", () => {
    expect(replay(events)).toEqual(whole);
  });

  test("any batching of the events gives the same state", () => {
    for (let seed = 1; seed <= 5; seed += 1) {
      const next = chance(seed);
      let [state, at] = [EMPTY, 0];
      while (at < events.length) {
        const count = 1 + Math.floor(next() * 7);
        state = reduce(state, events.slice(at, at + count));
        at += count;
      }
      expect(state).toEqual(whole);
    }
  });

  test("a line cut anywhere loses and duplicates nothing", () => {
    const step = Math.max(1, Math.floor(events.length / 40));
    for (let cut = 1; cut < events.length; cut += step) {
      const [before, after] = cutAt(events, cut);
      expect(typed(after), `cut before ${cut}`).toEqual(typed(before));
      expect(reduce(after, events.slice(cut)), `cut before ${cut}`).toEqual(whole);
    }
  });

  test("the events after any starting point are shown", () => {
    const record = onRecord(events);
    for (let from = 1; from < record.length; from += Math.max(1, Math.floor(record.length / 20))) {
      const tail = replay(record.slice(from));
      const known = record.slice(from).flatMap((event) => (event.kind === "frame" ? wordsOf([{ dir: "out", msg: event.data! }]) : []));
      for (const [, said] of known) expect(texts(tail), `from ${from}`).toContain(said);
      expect(flat(tail.rows).filter(([, row]) => row.kind === "unknown" && row.what === "tool_result")).toEqual([]);
    }
  });
});
