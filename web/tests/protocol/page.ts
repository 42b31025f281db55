// A socket whose other end is the test, and a page that records what the connection reports.

import { vi } from "vitest";

import type { ClientMessage, Event, ServerMessage } from "../../src/protocol/messages";
import { Socket, type Link } from "../../src/protocol/socket";

/** A WebSocket in memory. */
export class Line {
  readyState = 0;
  onopen: (() => void) | null = null;
  onmessage: ((message: { data: string }) => void) | null = null;
  onclose: ((closed: { code: number; reason: string }) => void) | null = null;
  closed = false;
  readonly heard: ClientMessage[] = [];

  send(text: string): void {
    this.heard.push(JSON.parse(text) as ClientMessage);
  }

  close(): void {
    this.closed = true;
    this.readyState = 3;
  }

  opens(): this {
    this.readyState = 1;
    this.onopen?.();
    return this;
  }

  says(said: Partial<ServerMessage> & { type: string }): void {
    this.onmessage?.({ data: JSON.stringify(said) });
  }

  greets(): void {
    this.says({ type: "hello", protocol: 1, version: "1", device: "d", scopes: ["view"], commands: [] });
  }

  breaks(reason = "", code = 1006): void {
    this.readyState = 3;
    this.onclose?.({ code, reason });
  }

  of<Type extends ClientMessage["type"]>(type: Type): Extract<ClientMessage, { type: Type }>[] {
    return this.heard.filter((one) => one.type === type) as Extract<ClientMessage, { type: Type }>[];
  }
}

export class Page {
  readonly links: Link[] = [];
  readonly told: Event[] = [];
  readonly fresh: boolean[] = [];
  readonly problems: [string, string][] = [];
  readonly refusals: [string, number][] = [];
  lists = 0;
  readonly lines: Line[] = [];
  ticket: () => Promise<string> = () => Promise.resolve("secret");
  readonly socket = new Socket(
    {
      link: (link) => this.links.push(link),
      hello: () => undefined,
      subscribed: (_said, fresh) => this.fresh.push(fresh),
      events: (_session, events) => this.told.push(...events),
      sessions: () => undefined,
      listAgain: () => (this.lists += 1),
      problem: (message, session) => this.problems.push([message, session]),
      refused: (code, tries) => this.refusals.push([code, tries]),
    },
    () => this.ticket(),
    () => {
      const line = new Line();
      this.lines.push(line);
      return line as unknown as WebSocket;
    },
  );

  /** A line that is open and has been greeted. */
  async comes(): Promise<Line> {
    await this.socket.connect();
    await vi.advanceTimersByTimeAsync(0); // or it was being made already
    const line = this.lines.at(-1)!.opens();
    line.greets();
    return line;
  }

  get state(): string {
    return this.links.at(-1)!.state;
  }
}
