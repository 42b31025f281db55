// The WebSocket to the server. It reconnects by itself, delivers each event of a session once and in order, and repeats pending commands
// under the same id, which the server executes once.

import { reasonOf, Refused, send as post } from "./api";
import { addressOf } from "./base-path";
import type { ClientMessage, Commands, Event, ServerHello, ServerMessage, ServerReceipt, ServerSubscribed, SessionItem } from "./messages";

type LinkState = "connecting" | "open" | "lost" | "refused";

/** State of the connection. `retryAt`: time of the next attempt. `reason`: why it is not open. */
export interface Link {
  state: LinkState;
  retryAt: number;
  reason: string;
  /** The error code of a refusal: "revoked" or "no_login". */
  code?: string;
}

/** Receives what the server sends. */
export interface Listener {
  link(link: Link): void;
  hello(hello: ServerHello): void;
  /** `fresh`: discard the known events of the session; a snapshot follows. */
  subscribed(said: ServerSubscribed, fresh: boolean): void;
  events(session: string, events: Event[]): void;
  sessions(items: SessionItem[]): void;
  /** The session list must be loaded again. */
  listAgain(): void;
  /** The server reported an error. With a session, the subscription to it failed. */
  problem(message: string, session: string): void;
  /** A command was refused with this code. `tries`: retries before. */
  refused(code: string, tries: number): void;
}

type Ticket = () => Promise<string>;
type Open = (ticket: string) => WebSocket;

interface Waiting {
  message: ClientMessage & { type: "command" };
  tries: number;
  resolve(result: Record<string, unknown>): void;
  reject(error: Error): void;
}

const FIRST_PAUSE = 300;
const LONGEST_PAUSE = 15_000;
/** Milliseconds without a message before the connection counts as dead; the server sends a heartbeat twice a minute. */
const SILENCE = 75_000;
/** Milliseconds to wait for a connection to open. */
const PATIENCE = 10_000;
/** Milliseconds to wait for the answer to a ping. */
const PROBE = 3000;
/** Close code of a socket whose device was revoked. The server also uses it for a client that sends no hello, so the reason decides. */
const UNAUTHORIZED = 4401;
export const REVOKED = "revoked";
/** Error code for a session that is out of reach, and the pause before subscribing again. */
const AWAY = "cluster_away";
const AWAY_PAUSE = 2000;
/** Error code when the machine of a session did not answer: the command may or may not have been executed. */
export const UNANSWERED = "unreachable";
/** Pauses before such a command is retried under the same id. Together they outlast the detection of a lost machine. */
const PAUSES = [1000, 4000, 12_000];
/** Events replayed after a reconnect; if more were missed, the server sends a snapshot. */
const RESUMED = 5000;

/** A random UUID; `crypto.randomUUID` exists only in secure contexts. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function read(data: unknown): ServerMessage | null {
  try {
    return JSON.parse(String(data)) as ServerMessage;
  } catch {
    return null;
  }
}

/** Adds a timeout to `fetch`, which does not have one. */
function soon<Answer>(asked: Promise<Answer>): Promise<Answer> {
  let late: ReturnType<typeof setTimeout>;
  const given = new Promise<never>((_, reject) => {
    late = setTimeout(() => reject(new Error("the server does not respond")), PATIENCE);
  });
  return Promise.race([asked, given]).finally(() => clearTimeout(late));
}

const askForTicket: Ticket = async () => (await post<{ ticket: string }>("POST", "/api/tickets")).ticket;
const openSocket: Open = (ticket) => new WebSocket(`${location.origin.replace(/^http/, "ws")}${addressOf("/ws")}`, ["handrail.v1", `ticket.${ticket}`]);

export class Socket {
  #listener: Listener;
  #ticket: Ticket;
  #open: Open;
  #line: WebSocket | null = null;
  #connecting = false;
  #pause = FIRST_PAUSE;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  /** By session: sequence number of the last delivered event. */
  #followed = new Map<string, { last: number; tail: number }>();
  #waiting = new Map<string, Waiting>();
  #visible = false;

  constructor(listener: Listener, ticket: Ticket = askForTicket, open: Open = openSocket) {
    this.#listener = listener;
    this.#ticket = ticket;
    this.#open = open;
  }

  /** Connect, and stay connected. */
  async connect(): Promise<void> {
    clearTimeout(this.#retry);
    if (this.#line || this.#connecting) return;
    this.#connecting = true;
    this.#listener.link({ state: "connecting", retryAt: 0, reason: "" });
    try {
      this.#take(this.#open(await soon(this.#ticket())));
    } catch (error) {
      if (error instanceof Refused && error.status === 401) this.#refuse(error);
      else this.#again(reasonOf(error));
    } finally {
      this.#connecting = false;
    }
  }

  /** Check the connection, for example after the device woke up. */
  probe(): void {
    if (!this.#line) return void this.connect();
    this.#say({ type: "ping" });
    this.#listen(PROBE);
  }

  /** Drop the connection and reconnect. */
  reset(): void {
    this.#drop("");
    void this.connect();
  }

  follow(session: string, tail: number): void {
    if (this.#followed.has(session)) return;
    this.#followed.set(session, { last: 0, tail });
    this.#subscribe(session);
  }

  unfollow(session: string): void {
    if (this.#followed.delete(session)) this.#say({ type: "unsubscribe", session });
  }

  visible(visible: boolean): void {
    this.#visible = visible;
    this.#say({ type: "visible", visible });
  }

  /** Execute a command once, even across reconnects. Rejects with the server's message. `id`: of a command that may already have been
   *  executed. */
  command<Name extends keyof Commands>(command: Name, fields: Commands[Name]["fields"], id = newId()): Promise<Record<string, unknown>> {
    const message = { type: "command" as const, id, command, fields: fields as Record<string, unknown> };
    return new Promise((resolve, reject) => {
      this.#waiting.set(message.id, { message, tries: 0, resolve, reject });
      this.#say(message);
    });
  }

  #take(line: WebSocket): void {
    this.#line = line;
    this.#listen(PATIENCE);
    line.onopen = () => {
      this.#say({ type: "hello", protocol: 1 });
      this.#say({ type: "watch" });
      this.#say({ type: "visible", visible: this.#visible });
      for (const session of this.#followed.keys()) this.#subscribe(session);
      for (const { message } of this.#waiting.values()) this.#say(message); // under the same id, so it is executed once
    };
    line.onmessage = (message) => {
      this.#listen(SILENCE);
      const said = read(message.data);
      if (said) this.#hear(said);
      else this.#drop("the server sent an unreadable message");
    };
    line.onclose = (closed) => {
      if (this.#line !== line) return;
      if (closed.code === UNAUTHORIZED && closed.reason.includes(REVOKED)) this.#expel(closed.reason);
      else this.#drop(closed.reason);
    };
  }

  /** Give the connection up after this many milliseconds of silence. */
  #listen(patience: number): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#drop("the server sent nothing for too long"), patience);
  }

  #drop(reason: string): void {
    if (this.#shut()) this.#again(reason);
  }

  /** This device was revoked while connected: reconnecting would be refused. */
  #expel(reason: string): void {
    this.#shut();
    clearTimeout(this.#retry);
    this.#refuse(new Refused(401, REVOKED, reason));
  }

  /** Close the socket without reporting it. Returns whether there was one. */
  #shut(): boolean {
    const line = this.#line;
    if (!line) return false;
    line.onopen = line.onmessage = line.onclose = null;
    line.close();
    this.#line = null;
    clearTimeout(this.#silence);
    return true;
  }

  #again(reason: string): void {
    const pause = this.#pause * (0.75 + Math.random() / 2); // jitter, so that clients do not reconnect all at once
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
    this.#listener.link({ state: "lost", retryAt: Date.now() + pause, reason });
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.connect(), pause);
  }

  /** Access denied. Pending commands fail now; they must not run for the next user of this browser. */
  #refuse(error: Refused): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    this.#listener.link({ state: "refused", retryAt: 0, reason: error.message, code: error.code });
  }

  #say(message: ClientMessage): void {
    if (this.#line?.readyState === 1) this.#line.send(JSON.stringify(message));
  }

  #subscribe(session: string): void {
    const { last, tail } = this.#followed.get(session)!;
    this.#say({ type: "subscribe", session, after: last, tail: last ? RESUMED : tail });
  }

  #hear(said: ServerMessage): void {
    switch (said.type) {
      case "hello":
        this.#pause = FIRST_PAUSE;
        this.#listener.link({ state: "open", retryAt: 0, reason: "" });
        return this.#listener.hello(said);
      case "subscribed": {
        const followed = this.#followed.get(said.session);
        if (!followed) return;
        const fresh = said.verdict === "snapshot" || followed.last === 0;
        if (fresh) followed.last = 0;
        return this.#listener.subscribed(said, fresh);
      }
      case "events":
        return this.#tell(said.session, said.events);
      case "sessions":
        return this.#listener.sessions(said.items);
      case "receipt":
        return this.#receipt(said);
      case "resync":
        if (said.session) return this.#followed.has(said.session) ? this.#subscribe(said.session) : undefined;
        this.#say({ type: "watch" });
        return this.#listener.listAgain();
      case "error": {
        const session = said.session ?? "";
        if (said.code !== AWAY || !this.#followed.has(session)) return this.#listener.problem(said.message, session);
        setTimeout(() => this.#followed.has(session) && this.#subscribe(session), AWAY_PAUSE); // its machine is out of reach
        return;
      }
      case "heartbeat":
    }
  }

  /** Settle a command, or retry it under the same id. */
  #receipt({ id, ok, result, error }: ServerReceipt): void {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    const code = error?.code ?? "";
    if (!ok) this.#listener.refused(code, waiting.tries);
    const pause = !ok && code === UNANSWERED ? PAUSES[waiting.tries] : undefined;
    if (pause !== undefined) {
      waiting.tries += 1;
      setTimeout(() => this.#waiting.get(id) === waiting && this.#say(waiting.message), pause);
      return;
    }
    this.#waiting.delete(id);
    if (ok) waiting.resolve(result ?? {});
    else waiting.reject(new Refused(200, code, error?.message ?? "the server refused the command"));
  }

  /** Deliver each persisted event once; replayed and live events may overlap. */
  #tell(session: string, events: Event[]): void {
    const followed = this.#followed.get(session);
    if (!followed) return;
    const fresh = events.filter((event) => {
      if (event.seq === undefined) return true;
      if (event.seq <= followed.last) return false;
      followed.last = event.seq;
      return true;
    });
    if (fresh.length) this.#listener.events(session, fresh);
  }
}
