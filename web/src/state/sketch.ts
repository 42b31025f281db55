// A mutable draft of the next state. The state it starts from is not changed; unchanged parts are shared between both.

import type { Event } from "../protocol/messages";
import type { Call, CallStatus, Row, State } from "./state";

/** The path to a call: the index of its row, then indexes into nested rows. */
type Place = readonly number[];

/** Lookup tables over the rows of a state. Each state hands them on to the next, so they are not rebuilt. */
interface Index {
  /** The state it describes; null while a sketch is open. */
  of: State | null;
  places: Map<string, Place>;
  /** Row keys and how often each was requested; a CLI may repeat ids. */
  keys: Map<string, number>;
}

const INDEX = new WeakMap<State, Index>();
const OPEN: ReadonlySet<CallStatus> = new Set(["typing", "waiting", "running"]);
/** Nesting limit for subagents of subagents; deeper rows become siblings. Protects the page from hostile input. */
const DEEPEST = 12;

export class Sketch {
  /** Fields may be replaced. Objects in them may be mutated only if this sketch created them. */
  readonly state: State;
  #rows = false;
  #own = new Set<Call>();
  #index: Index;

  constructor(state: State) {
    this.state = { ...state };
    const known = INDEX.get(state);
    this.#index = known?.of === state ? known : indexOf(state);
    this.#index.of = null; // if this sketch is abandoned, the next one rebuilds the index
  }

  done(): State {
    this.#index.of = this.state;
    INDEX.set(this.state, this.#index);
    return this.state;
  }

  /** The key of a row made by an event; independent of how many older events are loaded. */
  key(event: Event): string {
    return `e${event.seq ?? `after${this.state.last}`}`;
  }

  /** Append a row, inside the call `parent` if given. */
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

  /** A call, ready to be mutated. */
  call(id: string): Call | undefined {
    const place = this.#index.places.get(id);
    return place && this.#ownCall(place);
  }

  /** A call, or a placeholder if its own frame has not arrived. */
  callOrUnseen(id: string, time: number): Call {
    return this.#ownCall(this.#index.places.get(id) ?? this.#unseen(id, time));
  }

  /** The calls of subagents around a call, and the open calls after it in its message; all ready to be mutated. */
  around(id: string): { above: Call[]; after: Call[] } {
    const place = this.#index.places.get(id) ?? [];
    const above = place.slice(1).map((_, depth) => this.#ownCall(place.slice(0, depth + 1)));
    const rows = above.at(-1)?.rows ?? this.state.rows;
    const later = rows.slice((place.at(-1) ?? rows.length) + 1).filter((row): row is Call => row.kind === "call" && OPEN.has(row.status));
    return { above, after: later.map((call) => this.call(call.id)!) };
  }

  /** Close open calls that will not get a result. `which` receives the path of calls down to the open one. */
  leave(which: (line: readonly Call[]) => boolean, status: CallStatus = "interrupted"): void {
    const left = new Set(this.state.open.filter((id) => which(this.#line(id))));
    for (const id of left) {
      const call = this.call(id)!;
      if (OPEN.has(call.status)) call.status = status;
      call.live = [];
    }
    this.#close((id) => left.has(id));
  }

  /** Remove a call from the open ones. */
  settled(id: string): void {
    this.#close((one) => one === id);
  }

  /** Replace the newest row that matches, looking at most `back` rows back. Returns whether one matched. */
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

  /** The path of calls down to a call, read-only. */
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

  /** A placeholder for a call whose own frame comes later, or is older than the loaded events. */
  #unseen(id: string, time: number): Place {
    this.add(blankCall(id, id, "", time));
    return this.#index.places.get(id)!;
  }

  /** React keys must be unique even if the CLI repeats ids. */
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

/** A copy of a state with other fields. Rows, if replaced, must have the same keys and places. */
export function like(state: State, fields: Partial<State>): State {
  const next = { ...state, ...fields };
  const index = INDEX.get(state);
  if (index?.of !== state) return next;
  index.of = next;
  INDEX.set(next, index);
  return next;
}

/** A call before its input and result are known. */
export function blankCall(key: string, id: string, name: string, time: number): Call {
  return { kind: "call", key, id, name, input: {}, edited: false, typed: "", status: "running", result: [], detail: undefined, title: "", printed: "", elapsed: 0, began: time, started: time, ended: 0, waited: 0, task: "", rows: [], live: [], message: { id: "", count: 0 } };
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
