// A state that is being changed. In: a state, which stays as it is. Out: another that shares with it whatever did not change.

import type { Event } from "../protocol/messages";
import type { Call, CallStatus, Row, State } from "./state";

/** Where a call stands: the place of its row, and of the rows inside that. */
type Place = readonly number[];

/** What can be read off the rows of a state, kept so that nobody has to. It is handed on from each state to the next. */
interface Index {
  /** The state that it describes; null while that is being made. */
  of: State | null;
  places: Map<string, Place>;
  /** The names of rows, each with how often it was wanted: a CLI may give all of them the same. */
  keys: Map<string, number>;
}

const INDEX = new WeakMap<State, Index>();
const OPEN: ReadonlySet<CallStatus> = new Set(["typing", "waiting", "running"]);
/** Subagents of subagents: what is further inside stands beside its caller. Nobody nests so deep, except to break the page. */
const DEEPEST = 12;

export class Sketch {
  /** Its fields may be replaced; what they hold may be changed only where this sketch made it. */
  readonly state: State;
  #rows = false;
  #own = new Set<Call>();
  #index: Index;

  constructor(state: State) {
    this.state = { ...state };
    const known = INDEX.get(state);
    this.#index = known?.of === state ? known : indexOf(state);
    this.#index.of = null; // where a sketch is given up half-way, the next one reads the rows anew
  }

  done(): State {
    this.#index.of = this.state;
    INDEX.set(this.state, this.#index);
    return this.state;
  }

  /** The name of a row that an event makes: the same one however much is known of what was before. */
  key(event: Event): string {
    return `e${event.seq ?? `after${this.state.last}`}`;
  }

  /** One more row, below a call where one is named. */
  add(row: Row, parent = ""): void {
    const above = parent ? (this.#index.places.get(parent) ?? this.#unseen(parent, row.kind === "call" ? row.began : row.time)).slice(0, DEEPEST) : undefined;
    const rows = above ? this.#ownCall(above).rows : this.#ownRows();
    row.key = this.#unique(row.key);
    rows.push(row);
    if (row.kind !== "call") return;
    this.#own.add(row);
    this.#index.places.set(row.id, [...(above ?? []), rows.length - 1]);
    if (OPEN.has(row.status)) this.state.open = [...this.state.open, row.id];
  }

  /** A call that may be changed. */
  call(id: string): Call | undefined {
    const place = this.#index.places.get(id);
    return place && this.#ownCall(place);
  }

  /** Calls that got no result get none any more: those of which `which` says so, by the call and what it is inside of. */
  leave(which: (line: readonly Call[]) => boolean, status: CallStatus = "interrupted"): void {
    const left = new Set(this.state.open.filter((id) => which(this.#line(id))));
    for (const id of left) {
      const call = this.call(id)!;
      if (OPEN.has(call.status)) call.status = status;
    }
    this.#close((id) => left.has(id));
  }

  /** A call has its result. */
  settled(id: string): void {
    this.#close((one) => one === id);
  }

  /** Change rows that a test finds among the newest, at most so far back. */
  amend<One extends Row>(test: (row: Row) => row is One, change: (row: One) => Row, back = 200): boolean {
    const rows = this.state.rows;
    for (let at = rows.length - 1; at >= Math.max(0, rows.length - back); at -= 1) {
      const row = rows[at]!;
      if (!test(row)) continue;
      this.#ownRows()[at] = change(row);
      return true;
    }
    return false;
  }

  #close(which: (id: string) => boolean): void {
    if (this.state.open.some(which)) this.state.open = this.state.open.filter((id) => !which(id));
  }

  /** A call and those that it is inside of, to look at. */
  #line(id: string): Call[] {
    const line: Call[] = [];
    let rows = this.state.rows;
    for (const at of this.#index.places.get(id) ?? []) {
      const call = rows[at] as Call;
      line.push(call);
      rows = call.rows;
    }
    return line;
  }

  /** A call that something is inside of, and that is told later, or was told before all that is known. */
  #unseen(id: string, time: number): Place {
    this.add(blankCall(id, id, "", time));
    return this.#index.places.get(id)!;
  }

  /** What is drawn must not have the name of something else, whoever gave it. */
  #unique(key: string): string {
    const { keys } = this.#index;
    let count = keys.get(key) ?? 0;
    let unique = key;
    while (count > 0 && keys.has((unique = `${key}~${count + 1}`))) count += 1;
    keys.set(key, count + 1);
    if (unique !== key) keys.set(unique, 1);
    return unique;
  }

  #ownRows(): Row[] {
    if (!this.#rows) this.state.rows = [...this.state.rows];
    this.#rows = true;
    return this.state.rows;
  }

  #ownCall(place: Place): Call {
    let rows = this.#ownRows();
    let call: Call | undefined;
    for (const at of place) {
      call = rows[at] as Call;
      if (!this.#own.has(call)) {
        call = { ...call, rows: [...call.rows] };
        this.#own.add(call);
        rows[at] = call;
      }
      rows = call.rows;
    }
    return call!;
  }
}

/** Another state with the same rows, or with such as say the same at the same places under the same names. */
export function like(state: State, fields: Partial<State>): State {
  const next = { ...state, ...fields };
  const index = INDEX.get(state);
  if (index?.of !== state) return next;
  index.of = next;
  INDEX.set(next, index);
  return next;
}

/** A call of which nothing is known but its name. */
export function blankCall(key: string, id: string, name: string, time: number): Call {
  return { kind: "call", key, id, name, input: {}, typed: "", status: "running", result: [], detail: undefined, title: "", elapsed: 0, began: time, ended: 0, task: "", rows: [] };
}

function indexOf(state: State): Index {
  const index: Index = { of: state, places: new Map(), keys: new Map() };
  const walk = (rows: readonly Row[], above: Place): void => {
    for (const [at, row] of rows.entries()) {
      index.keys.set(row.key, 1);
      if (row.kind !== "call") continue;
      index.places.set(row.id, [...above, at]);
      walk(row.rows, [...above, at]);
    }
  };
  walk(state.rows, []);
  return index;
}
