// A proxy in front of a server that can cut connections: at once, in the middle of a frame, or with a pause before new ones are accepted.

import { once } from "node:events";
import { connect, createServer, type Server as Listener, type Socket } from "node:net";

import { Server, type Settings } from "./server";

export type Cut = "at once" | "in a frame" | "for a while";
const AWAY = 600;

export class Proxy {
  #listener: Listener;
  #pairs = new Set<[Socket, Socket]>();
  #awayUntil = 0;
  port = 0;
  target = 0;

  constructor() {
    this.#listener = createServer((near) => this.#join(near));
  }

  async listen(): Promise<void> {
    this.#listener.listen(0, "127.0.0.1");
    await once(this.#listener, "listening");
    this.port = (this.#listener.address() as { port: number }).port;
  }

  /** Returns when the first and the last connection were cut. */
  async cut(how: Cut, within = 400): Promise<[number, number]> {
    if (how === "for a while") this.#awayUntil = Date.now() + AWAY;
    const pairs = [...this.#pairs];
    if (how !== "in a frame") {
      for (const pair of pairs) this.#break(pair);
      return [Date.now(), Date.now()];
    }
    // Half of the next chunk gets through.
    const cuts = pairs.map(
      (pair) =>
        new Promise<number>((done) => {
          const [near, far] = pair;
          far.unpipe(near);
          far.once("data", (bytes: Buffer) => {
            near.write(bytes.subarray(0, Math.ceil(bytes.length / 2)), () => {
              this.#break(pair);
              done(Date.now());
            });
          });
          near.once("close", () => done(Date.now()));
          setTimeout(() => (this.#break(pair), done(Date.now())), within).unref();
        }),
    );
    const when = await Promise.all([...cuts, Promise.resolve(Date.now())]);
    return [Math.min(...when), Math.max(...when)];
  }

  async close(): Promise<void> {
    for (const pair of this.#pairs) this.#break(pair);
    this.#listener.close();
    await once(this.#listener, "close");
  }

  #join(near: Socket): void {
    if (Date.now() < this.#awayUntil) return void near.resetAndDestroy();
    const far = connect(this.target, "127.0.0.1");
    const pair: [Socket, Socket] = [near, far];
    this.#pairs.add(pair);
    for (const socket of pair) {
      socket.on("error", () => this.#break(pair));
      socket.on("close", () => this.#break(pair));
    }
    near.pipe(far);
    far.pipe(near);
  }

  #break(pair: [Socket, Socket]): void {
    if (!this.#pairs.delete(pair)) return;
    for (const socket of pair) socket.destroy();
  }
}

/** A server that is reached only through the proxy. */
export class FarServer extends Server {
  readonly line: Proxy;

  constructor(line: Proxy, settings: Settings) {
    super({ ...settings, args: [...(settings.args ?? []), "--name", `127.0.0.1:${line.port}`] });
    this.line = line;
  }

  static async behind(settings: Settings): Promise<FarServer> {
    const line = new Proxy();
    await line.listen();
    const server = new FarServer(line, settings);
    await server.start();
    line.target = server.port;
    return server;
  }

  /** The port it really listens on. */
  get port(): number {
    return Number(new URL(super.origin).port);
  }

  override get origin(): string {
    return `http://127.0.0.1:${this.line.port}`;
  }

  override async link(): Promise<string> {
    return (await super.link()).replace(/:\d+\//, `:${this.line.port}/`);
  }

  override async stop(): Promise<void> {
    await this.line.close();
    await super.stop();
  }
}
