// One session that the page follows: its events so far, and the state that they make. Deltas come hundreds of times a second: they are put
// together until the next frame is drawn. In: events of the socket, older pages. Out: a store for the views.

import { create, type StoreApi, type UseBoundStore } from "zustand";

import { get } from "../protocol/api";
import type { Event, ServerSubscribed } from "../protocol/messages";
import { like } from "./sketch";
import { reduce } from "./reduce";
import { sameRows } from "./same-rows";
import { slim } from "./slim";
import { EMPTY, type State } from "./state";

/** What the views see. `first`: the number of the oldest event on record; `from`: of the oldest that is here. */
export interface Shown {
  state: State;
  ready: boolean;
  first: number;
  from: number;
  loading: boolean;
  /** Rows before this one are not shown: the user cleared the view. */
  cleared: number;
  /** Why there is nothing to follow: it was deleted, or never was. */
  problem: string;
}

/** So many events are asked for at first; the older ones follow while nobody waits. */
export const TAIL = 400;
const PAGE = 2000;
/** No more than so many events are held: who wants to read further back searches, or exports. */
const MOST = 50_000;
/** So many more may come before the oldest are let go: that takes a moment. */
const SPARE = 5000;
/** So many wait for the next frame; where there is none, as in a tab that nobody sees, they are not left lying about. */
const MOST_PENDING = 2000;
const HURRY = 200;
/** Making a long past takes long: so much of it at a time, in ms, that frames are drawn in between. */
const SLICE = 6;
const STEP = 100;

/** What is larger is shown when somebody wants to see it. */
const LARGEST = 4 * 1024 * 1024;

interface Page {
  events: Event[];
  first: number;
}

/** Of what is not on record the newest word holds. */
function unrecorded({ live, turn }: State, made: State): Partial<State> {
  return { live, turn: made.turn.running ? { ...made.turn, doing: turn.doing, retry: turn.retry } : made.turn };
}

/** What nobody is left to say: its machine has gone. */
const GONE: Event = { kind: "state", data: { state: "interrupted" } };

const breathe = (): Promise<void> => new Promise((done) => setTimeout(done, 0));

export class Followed {
  readonly use: UseBoundStore<StoreApi<Shown>>;
  readonly id: string;
  #events: Event[] = [];
  #pending: Event[] = [];
  #drawn = false;
  #hurry: ReturnType<typeof setTimeout> | undefined;
  /** Rises when all is told anew: what was asked for before is void. */
  #telling = 0;
  #making = 0;
  /** Its machine has gone: whatever the record ends with, nothing runs. */
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
      // What is being written comes anew, from its beginning.
      this.use.setState(({ state }) => ({ state: like(state, { live: [] }) }));
    }
  }

  /** How the list says that it stands. */
  stands(state: string | undefined): void {
    const gone = state === "interrupted";
    if (gone === this.#gone) return;
    this.#gone = gone;
    this.#draw();
    if (gone) this.use.setState(({ state: shown }) => ({ state: reduce(shown, [GONE]) }));
    else if (this.#events.length) void this.#remake(this.use.getState().first); // it came back, and goes on with what it did
  }

  /** It cannot be followed. */
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
    this.#hurry ??= setTimeout(() => this.#draw(), HURRY); // a page that nobody sees draws no frames
  }

  /** Older events, a page or several: the more are here, the more are fetched, as all is made anew each time. Out: whether there are more. */
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
      return false; // the socket tells that the server is away; whoever scrolls up asks again
    } finally {
      if (telling === this.#telling) this.use.setState({ loading: false });
    }
  }

  clear(): void {
    this.use.setState(({ state }) => ({ cleared: state.rows.length }));
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

  /** Pictures and long outputs do not come with the rest. Those of now are fetched: a call is not done without them. */
  async #enlarge(large: readonly Event[]): Promise<void> {
    const telling = this.#telling;
    for (const { seq } of large) {
      const whole = await get<Event>(`/api/sessions/${this.id}/events/${seq}`).catch(() => null);
      if (telling !== this.#telling) return;
      this.#draw(); // it is among the events, and not on its way there
      const at = whole ? this.#events.findLastIndex((event) => event.seq === seq) : -1;
      if (whole && at >= 0) this.#events[at] = whole;
    }
    await this.#remake(this.use.getState().first);
  }

  /** All anew, by the places in the whole: a result here may belong to a call there. What comes meanwhile is shown as before. */
  async #remake(first: number): Promise<void> {
    this.#making += 1;
    const [telling, making] = [this.#telling, this.#making];
    let made = EMPTY;
    let begun = performance.now();
    for (let at = 0; at < this.#events.length; at += STEP) {
      made = reduce(made, this.#events.slice(at, at + STEP));
      if (performance.now() - begun < SLICE) continue;
      await breathe();
      if (telling !== this.#telling || making !== this.#making) return; // a later one has all of this too
      begun = performance.now();
    }
    if (this.#gone) made = reduce(made, [GONE]);
    this.use.setState(({ state, cleared, from }) => ({
      state: like(made, { rows: sameRows(made.rows, state.rows), ...unrecorded(state, made) }),
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

  /** The oldest are let go. */
  #forget(): void {
    if (this.use.getState().loading) return;
    this.#events = this.#events.slice(-MOST);
    void this.#remake(this.use.getState().first);
  }
}
