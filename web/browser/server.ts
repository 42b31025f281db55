// A real `handrail serve` for a test, with its own project folder, data and model script. It can be killed and started again.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const BIN = resolve(import.meta.dirname, "../../.venv/bin");
const PATIENCE = 30_000;

/** A reply of the scripted model, as `handrail.agent.models.script` describes it. */
export type Reply = Record<string, unknown>;

export interface Settings {
  /** The model's script; by default the built-in one, with its tour. */
  script?: { replies: Reply[]; afterwards?: Reply };
  /** Files of the project folder, by path. */
  files?: Record<string, string>;
  args?: string[];
  env?: Record<string, string>;
  cli?: string;
}

export class Server {
  readonly home = mkdtempSync(join(tmpdir(), "handrail-browser-"));
  readonly folder = join(this.home, "project");
  readonly settings: Settings;
  #child: ChildProcess | undefined;
  #port = 0;
  #used = "";
  log = "";

  constructor(settings: Settings = {}) {
    this.settings = settings;
    mkdirSync(this.folder);
    for (const [path, content] of Object.entries(settings.files ?? {})) this.write(path, content);
    if (settings.script) writeFileSync(join(this.home, "script.json"), JSON.stringify(settings.script));
  }

  static async start(settings: Settings = {}): Promise<Server> {
    const server = new Server(settings);
    await server.start();
    return server;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Write a file of the project. */
  write(path: string, content: string): void {
    const whole = join(this.folder, path);
    mkdirSync(join(whole, ".."), { recursive: true });
    writeFileSync(whole, content);
  }

  async start(): Promise<void> {
    this.#port ||= await freePort();
    const script = this.settings.script ? { HANDRAIL_SCRIPT: join(this.home, "script.json") } : {};
    const env = { PATH: process.env["PATH"] ?? "", HOME: this.home, LANG: "C.UTF-8", ...script, ...this.settings.env };
    const passed = Object.keys({ ...script, ...this.settings.env }).flatMap((name) => ["--pass-env", name]);
    const args = ["serve", "--port", String(this.#port), "--data", join(this.home, "data"), "--root", this.folder, ...(this.settings.cli === "" ? [] : ["--cli", this.settings.cli ?? "agent"]), ...passed];
    const child = spawn(join(BIN, "handrail"), [...args, ...(this.settings.args ?? [])], { cwd: this.folder, env, stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    const from = this.log.length;
    const printed = new Promise<void>((done, failed) => {
      const hear = (bytes: Buffer) => {
        this.log += bytes.toString();
        if (/#link=\S+\s/.test(this.log.slice(from))) done();
      };
      child.stdout.on("data", hear);
      child.stderr.on("data", hear);
      child.once("exit", (code) => failed(new Error(`handrail serve ended with ${code}:\n${this.log.slice(from)}`)));
      setTimeout(() => failed(new Error(`handrail serve printed no link:\n${this.log.slice(from)}`)), PATIENCE).unref();
    });
    await printed;
  }

  /** A login link for another browser: the printed one until it is used, then new ones. */
  async link(): Promise<string> {
    const printed = [...this.log.matchAll(/http:\S+#link=\S+/g)].at(-1)![0];
    if (printed !== this.#used) return (this.#used = printed);
    const child = spawn(join(BIN, "handrail"), ["serve", "--link", "--data", join(this.home, "data")], { stdio: ["ignore", "pipe", "inherit"] });
    let told = "";
    child.stdout.on("data", (bytes: Buffer) => (told += bytes.toString()));
    await once(child, "close");
    return /http:\S+#link=\S+/.exec(told)![0];
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  }

  async stop(): Promise<void> {
    await this.kill("SIGTERM");
    rmSync(this.home, { recursive: true, force: true, maxRetries: 3 });
  }
}

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, "close");
  return port;
}
