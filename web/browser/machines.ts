// A fake cluster for one page. Sits between the page and a single server: adds machines to the server's answers, and records and removes
// the machine fields of the page's requests.

import type { WebSocketRoute } from "playwright-core";

import type { Visitor } from "./visitor";

type Json = Record<string, unknown>;

const GIB = 1024 ** 3;
const node = (name: string, fields: Json): Json => ({ name, address: "", runs: true, moves: true, roots: [], labels: [], sessions: 0, most_sessions: 8, free_memory: 12 * GIB, least_memory: GIB, behind: 0, cli: "handrail-agent", version: "1.0", since: 0, age: 1.2, ...fields });

export class Machines {
  up = true;
  alarms: string[] = [];
  nodes: Json[];
  /** By session: its machine, if it is not the first worker. */
  readonly runners = new Map<string, string>();
  /** Sessions whose machine is lost. */
  readonly gone = new Set<string>();
  readonly started: Json[] = [];
  #page: WebSocketRoute | undefined;

  constructor(folder: string) {
    this.nodes = [
      node("gateway-1", { address: "https://gateway-1.example", runs: false }),
      node("worker-1", { roots: [folder], labels: ["linux"], sessions: 3, behind: 12 }),
      node("worker-2", { roots: [folder, "/srv/elsewhere"], labels: ["gpu", "linux"], moves: false }),
      node("worker-3", { roots: [folder], sessions: 8 }),
    ];
  }

  /** Start adding the machines to this visitor's traffic. */
  static async between(visitor: Visitor): Promise<Machines> {
    const machines = new Machines(visitor.server.folder);
    const { page } = visitor;
    await page.route("**/api/cluster", (route) => route.fulfill({ json: machines.told() }));
    await page.route("**/api/sessions?*", async (route) => {
      const answer = await route.fetch();
      const body = (await answer.json()) as { sessions: Json[] };
      await route.fulfill({ response: answer, json: { ...body, sessions: body.sessions.map((one) => machines.#placed(one)) } });
    });
    await page.routeWebSocket(/\/ws$/, (line) => machines.#join(line));
    await page.reload();
    await page.getByRole("button", { name: "New session" }).first().waitFor();
    return machines;
  }

  told(): Json {
    const stream = { replicas: 3, leader: "nats-2", behind: 0 };
    return { me: "gateway-1", up: this.up, nodes: this.nodes, streams: [{ ...stream, name: "handrail-events", messages: 120_345, bytes: 48 * 1024 ** 2 }, { ...stream, name: "KV_handrail-nodes", messages: 4, bytes: 2300 }], alarms: this.alarms };
  }

  /** Send the session list again, with the machine of each session. */
  tellAgain(): void {
    this.#page?.send(JSON.stringify({ type: "resync", session: "", reason: "machines" }));
  }

  #join(page: WebSocketRoute): void {
    this.#page = page;
    const server = page.connectToServer();
    page.onMessage((text) => server.send(this.#asked(String(text))));
    server.onMessage((text) => page.send(this.#answered(String(text))));
  }

  #asked(text: string): string {
    const said = JSON.parse(text) as Json & { fields?: Json };
    if (said["type"] !== "command" || !said.fields) return text;
    if (said["command"] === "resume" || said["command"] === "send") this.#takeUp(String(said.fields["session"]));
    if (said["command"] !== "start") return text;
    const { runner, labels, ...fields } = said.fields;
    this.started.push({ runner, labels });
    return JSON.stringify({ ...said, fields });
  }

  #takeUp(session: string): void {
    if (this.gone.delete(session)) this.runners.set(session, "worker-2");
  }

  #answered(text: string): string {
    const said = JSON.parse(text) as { type: string; machine?: string; record?: Json; items?: { session?: Json }[]; result?: { session?: Json } };
    if (said.type === "hello") said.machine = "gateway-1";
    if (said.record) said.record = this.#placed(said.record);
    for (const item of said.items ?? []) if (item.session) item.session = this.#placed(item.session);
    if (said.result?.session?.["id"]) said.result.session = this.#placed(said.result.session);
    return JSON.stringify(said);
  }

  #placed(session: Json): Json {
    const id = String(session["id"]);
    return { ...session, runner: this.runners.get(id) ?? "worker-1", ...(this.gone.has(id) && { state: "interrupted" }) };
  }
}
