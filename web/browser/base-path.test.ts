// The page under a base path behind a real nginx, with the configuration of the guide: assets, sockets, uploads, links, service worker.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join, resolve } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { words } from "./replies";
import { freePort, Server, type Settings } from "./server";
import { part, Visitor } from "./visitor";

const NGINX = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/bin/nginx"].find((path) => existsSync(path));
const GUIDE = resolve(import.meta.dirname, "../../docs/guides/proxy.md");
const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

/** A server that is reached only through nginx, below /handrail. */
class ProxiedServer extends Server {
  #nginx: ChildProcess | undefined;

  constructor(
    readonly outside: number,
    settings: Settings,
  ) {
    super({ ...settings, args: ["--name", `http://127.0.0.1:${outside}`, "--base-path", "/handrail", "--proxy", "127.0.0.1"] });
  }

  override get origin(): string {
    return `http://127.0.0.1:${this.outside}`;
  }

  override async start(): Promise<void> {
    await super.start();
    if (!this.#nginx) await this.#proxy(Number(new URL(super.origin).port));
  }

  async #proxy(inside: number): Promise<void> {
    const example = /```nginx\n([^]*?)```/.exec(readFileSync(GUIDE, "utf-8"))![1]!.replaceAll(/^ *(?:ssl_certificate|listen|server_name).*\n/gm, "");
    const site = example.replace("server {", `server {\n    listen 127.0.0.1:${this.outside};`).replace(":8787", `:${inside}`);
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((kind) => `${kind}_temp_path ${this.home}/nginx-${kind};`).join("\n");
    writeFileSync(join(this.home, "nginx.conf"), `daemon off;\nmaster_process off;\nerror_log stderr crit;\npid ${this.home}/nginx.pid;\nevents {}\nhttp {\naccess_log off;\n${temporary}\n${site}\n}\n`);
    this.#nginx = spawn(NGINX!, ["-e", "stderr", "-c", join(this.home, "nginx.conf")], { stdio: "inherit" });
    while (!(await answers(this.outside))) if (this.#nginx.exitCode !== null) throw new Error(`nginx ended with ${this.#nginx.exitCode}`);
  }

  override async stop(): Promise<void> {
    if (this.#nginx?.exitCode === null) {
      const gone = once(this.#nginx, "exit");
      this.#nginx.kill();
      await gone;
    }
    await super.stop();
  }
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const [first] = await Promise.race([once(socket, "connect").then(() => ["open"]), new Promise<string[]>((done) => socket.once("error", () => done(["closed"])))]);
  socket.destroy();
  return first === "open";
}

let server: ProxiedServer;
let ann: Visitor;

beforeAll(async () => {
  if (!NGINX) return;
  server = new ProxiedServer(await freePort(), { script: { replies: [], afterwards: { blocks: [words("Seen.")] } } });
  await server.start();
  ann = await Visitor.come(server);
});
afterAll(() => (NGINX ? part(server, ann) : undefined));

const behindNginx = test.skipIf(!NGINX);

behindNginx("a session with a picture runs, over sockets and uploads below the path", async () => {
  expect(new URL(ann.page.url()).pathname).toBe("/handrail/");
  await ann.startSession();
  await ann.page.locator("input[type=file]").setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: PNG });
  await ann.page.getByRole("list", { name: "Images" }).getByRole("img", { name: "dot.png" }).waitFor();
  await ann.composer.fill("a picture");
  await ann.page.getByRole("button", { name: "Send" }).click();
  await ann.sees("Seen.");
  expect(await ann.log.locator(".said img").count()).toBe(1);
});

behindNginx("the session is still there after a reload, and after a restart of the server", async () => {
  await ann.page.reload();
  await ann.sees("Seen.");
  await server.kill();
  await server.start();
  await ann.page.getByText(/Connection lost/).waitFor({ state: "detached" });
  const before = await ann.log.getByText("Seen.").count();
  await ann.say("once more");
  await expect.poll(() => ann.log.getByText("Seen.").count()).toBeGreaterThan(before);
});

behindNginx("the service worker, its cache and a link for another device stay below the path", async () => {
  expect(await ann.page.evaluate(async () => (await navigator.serviceWorker.ready).scope)).toBe(`${server.origin}/handrail/`);
  const kept = await ann.page.evaluate(async () => {
    const names = await caches.keys();
    const all = await Promise.all(names.map(async (name) => (await (await caches.open(name)).keys()).map((one) => new URL(one.url).pathname)));
    return all.flat();
  });
  expect(kept).toContain("/handrail/");
  expect(kept.filter((path) => !path.startsWith("/handrail/"))).toEqual([]);
  const bob = await Visitor.come(server);
  await bob.page.getByText("a picture").first().waitFor();
  await bob.leave();
});
