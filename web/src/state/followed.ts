// A session the page subscribes to: its events and the state reduced from them, as a store for the views. Deltas arrive hundreds of times
// a second, so events are collected until the next animation frame.

import { create, type StoreApi, type UseBoundStore } from "zustand";

import { get } from "../protocol/api";
import type { Event, ServerSubscribed } from "../protocol/messages";
import { like, Sketch } from "./sketch";
import { reduce } from "./reduce";
import { sameRows } from "./same-rows";
import { slim } from "./slim";
import { dropLive, keepLive } from "./stream";
import { EMPTY, type State } from "./state";

/** `first`: sequence number of the oldest persisted event. `from`: of the oldest loaded one. */
export interface Shown {
  state: State;
  ready: boolean;
  first: number;
  from: number;
  loading: boolean;
  /** Rows before this index are hidden: the user cleared the view. */
  cleared: number;
  /** Why the session cannot be shown, for example because it was deleted. */
  problem: string;
}

/** Events requested on subscribe; older pages are loaded in the background. */
export const TAIL = 400;
const PAGE = 2000;
/** Events kept in memory; older ones are available through search and export. */
const MOST = 50_000;
/** Events above MOST before the oldest are dropped, as dropping rebuilds the state. */
const SPARE = 5000;
/** Events collected before they are reduced without waiting for a frame; hidden tabs draw no frames. */
const MOST_PENDING = 2000;
const HURRY = 200;
/** Milliseconds of rebuilding between two yields to the browser, and events per step. */
const SLICE = 6;
const STEP = 100;

/** Larger events are loaded only when the user opens them. */
const LARGEST = 4 * 1024 * 1024;

interface Page {
  events: Event[];
  first: number;
}

/** Streaming rows and the turn's status come from live events only; a rebuilt state takes them over. */
function withLive(made: State, before: State): State {
  const sketch = new Sketch(made);
  keepLive(sketch, before);
  if (made.turn.running) sketch.state.turn = { ...made.turn, doing: before.turn.doing, retry: before.turn.retry };
  const next = sketch.done();
  return like(next, { rows: sameRows(next.rows, before.rows) });
}

/** Applied when the session's machine is lost, since no one else can report it. */
const GONE: Event = { kind: "state", data: { state: "interrupted" } };

const breathe = (): Promise<void> => new Promise((done) => setTimeout(done, 0));

export class Followed {
  readonly use: UseBoundStore<StoreApi<Shown>>;
  readonly id: string;
  #events: Event[] = [];
  #pending: Event[] = [];
  #drawn = false;
  #hurry: ReturnType<typeof setTimeout> | undefined;
  /** Incremented by each snapshot; answers to older requests are discarded. */
  #telling = 0;
  #making = 0;
  /** The session's machine is lost: nothing runs, even if the last event says otherwise. */
  #gone = false;

  constructor(id: string) {
    this.id = id;
    this.use = create<Shown>(() => ({ state: EMPTY, ready: false, first: 0, from: 0, loading: false, cleared: 0, problem: "" }));
  }

  subscribed(said: ServerSubscribed, fresh: boolean): void {
    if (fresh) {
      this.#telling += 1;
      this.#events = [];
      this.#pending = [];
      this.use.setState({ state: EMPTY, ready: said.last === 0, first: said.first, from: 0, loading: false, cleared: 0, problem: "" });
    } else {
      this.#draw();
      this.use.setState(({ state }) => {
        const sketch = new Sketch(state);
        dropLive(sketch);
        return { state: sketch.done() };
      });
    }
  }

  /** The session's state according to the session list. */
  stands(state: string | undefined): void {
    const gone = state === "interrupted";
    if (gone === this.#gone) return;
    this.#gone = gone;
    this.#draw();
    if (gone) this.use.setState(({ state: shown }) => ({ state: reduce(shown, [GONE]) }));
    else if (this.#events.length) void this.#remake(this.use.getState().first); // the machine is back
  }

  /** The subscription failed. */
  failed(problem: string): void {
    this.use.setState({ problem, ready: true });
  }

  take(events: Event[]): void {
    for (const event of events) this.#pending.push(event);
    const large = events.filter((event) => event.data === undefined && (event.bytes ?? 0) <= LARGEST);
    if (large.length) void this.#enlarge(large);
    if (this.#pending.length >= MOST_PENDING) return this.#draw();
    if (this.#drawn) return;
    this.#drawn = true;
    requestAnimationFrame(() => this.#draw());
    this.#hurry ??= setTimeout(() => this.#draw(), HURRY); // hidden tabs draw no frames
  }

  /** Load older events. Each load rebuilds the state, so the number of pages grows with what is loaded. Returns whether there are more. */
  async older(): Promise<boolean> {
    const { from, first, loading } = this.use.getState();
    if (loading || !from || from <= first || this.#events.length >= MOST) return false;
    this.use.setState({ loading: true });
    const telling = this.#telling;
    try {
      const older = await this.#fetch(from, Math.min(8, 1 + Math.floor(this.#events.length / (2 * PAGE))));
      if (telling !== this.#telling || older.events.length === 0) return false;
      this.#events = [...older.events, ...this.#events];
      await this.#remake(older.first);
      return (older.events[0]!.seq ?? 0) > older.first;
    } catch {
      return false; // the connection banner reports an unreachable server; scrolling up retries
    } finally {
      if (telling === this.#telling) this.use.setState({ loading: false });
    }
  }

  /** Hide everything shown, including blocks still streaming: complete, they become the next rows. */
  clear(): void {
    this.#draw();
    this.use.setState(({ state }) => ({ cleared: state.rows.length + state.live.length }));
  }

  showAll(): void {
    this.use.setState({ cleared: 0 });
  }

  async #fetch(before: number, pages: number): Promise<Page> {
    const all: Page = { events: [], first: 1 };
    for (let count = 0; count < pages; count += 1) {
      const oldest = all.events[0]?.seq ?? before;
      const page = await get<Page>(`/api/sessions/${this.id}/events?before=${oldest}&limit=${PAGE}`);
      all.first = page.first;
      all.events = [...page.events.map(slim), ...all.events];
      if (page.events.length === 0 || (page.events[0]!.seq ?? 0) <= page.first) break;
    }
    return all;
  }

  /** Fetch large recent events, which arrive without their data; a call may need one for its result. */
  async #enlarge(large: readonly Event[]): Promise<void> {
    const telling = this.#telling;
    for (const { seq } of large) {
      const whole = await get<Event>(`/api/sessions/${this.id}/events/${seq}`).catch(() => null);
      if (telling !== this.#telling) return;
      this.#draw(); // move it from the pending events to the loaded ones
      const at = whole ? this.#events.findLastIndex((event) => event.seq === seq) : -1;
      if (whole && at >= 0) this.#events[at] = whole;
    }
    await this.#remake(this.use.getState().first);
  }

  /** Rebuild the state from all events, since a newly loaded call may own a result already shown. */
  async #remake(first: number): Promise<void> {
    this.#making += 1;
    const [telling, making] = [this.#telling, this.#making];
    let made = EMPTY;
    let begun = performance.now();
    for (let at = 0; at < this.#events.length; at += STEP) {
      made = reduce(made, this.#events.slice(at, at + STEP));
      if (performance.now() - begun < SLICE) continue;
      await breathe();
      if (telling !== this.#telling || making !== this.#making) return; // a newer rebuild covers this one
      begun = performance.now();
    }
    if (this.#gone) made = reduce(made, [GONE]);
    this.use.setState(({ state, cleared, from }) => ({
      state: withLive(made, state),
      from: this.#events[0]?.seq ?? from,
      first,
      cleared: cleared && Math.max(0, cleared + made.rows.length - state.rows.length),
    }));
  }

  #draw(): void {
    clearTimeout(this.#hurry);
    this.#hurry = undefined;
    this.#drawn = false;
    const events = this.#pending;
    if (events.length === 0) return;
    this.#pending = [];
    for (const event of events) if (event.seq !== undefined) this.#events.push(slim(event));
    const from = this.use.getState().from || (this.#events[0]?.seq ?? 0);
    this.use.setState(({ state }) => ({ state: reduce(state, this.#gone ? [...events, GONE] : events), ready: true, from }));
    if (this.#events.length > MOST + SPARE) this.#forget();
  }

  /** Drop the oldest events. */
  #forget(): void {
    if (this.use.getState().loading) return;
    this.#events = this.#events.slice(-MOST);
    void this.#remake(this.use.getState().first);
  }
}
