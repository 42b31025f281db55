// Measures the page in Chromium, best of three rounds. BENCH_OUT names the JSON file for the results; QUICK=1 runs fewer and shorter
// rounds.

import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";

import type { CDPSession } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { Server } from "./server";
import { begin, visit } from "./session";
import { Visitor } from "./visitor";

const ROOT = resolve(import.meta.dirname, "../..");
const PYTHON = join(ROOT, ".venv/bin/python");
const PROGRAMS = join(ROOT, "benchmarks/programs");
const PAGE = join(ROOT, "src/handrail/bridge/page");
const LONG = "00000000-0000-4000-8000-00000000aaaa";
const QUICK = process.env["QUICK"] === "1";
const ROUNDS = Number(process.env["ROUNDS"] ?? (QUICK ? 1 : 3));
const MESSAGES = 10_000;
const SECONDS = QUICK ? 3 : 8;
const RATE = 600;
/** Fast scrolling: one notch of the wheel per frame. */
const [NOTCH, FRAME] = [120, 16];
const [FEW, MANY] = QUICK ? [2000, 20_000] : [20_000, 200_000];

interface Frames {
  p99: number;
  longest: number;
}

const figures: Record<string, unknown> = { messages: MESSAGES, rate: RATE, few: FEW, many: MANY };
let server: Server;
let turns = 0;

beforeAll(async () => {
  server = new Server();
  const cli = join(server.home, "claude-deltas");
  writeFileSync(cli, `#!/bin/sh\nexec "${PYTHON}" -I -S "${join(PROGRAMS, "delta_cli.py")}" "$@"\n`);
  chmodSync(cli, 0o755);
  server.settings.cli = cli;
  await server.start();
  const told = execFileSync(PYTHON, [join(PROGRAMS, "long_session.py"), join(server.home, "data/handrail.db"), server.folder, LONG, String(MESSAGES)], { encoding: "utf8" });
  turns = (JSON.parse(told) as { turns: number }).turns;
}, 120_000);
afterAll(async () => {
  await server?.stop();
  if (process.env["BENCH_OUT"]) writeFileSync(process.env["BENCH_OUT"], JSON.stringify(figures));
});

/** Start counting frames. Returns a function that gives their durations. */
async function watchFrames({ page }: Visitor): Promise<() => Promise<Frames>> {
  await page.evaluate(() => {
    const took: number[] = [];
    let before = performance.now();
    const frame = (now: number) => {
      took.push(now - before);
      before = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame((now) => ((before = now), requestAnimationFrame(frame)));
    Object.assign(globalThis, { took });
  });
  return () =>
    page.evaluate(() => {
      const took = (globalThis as unknown as { took: number[] }).took.toSorted((a, b) => a - b);
      return { p99: took[Math.floor(took.length * 0.99)] ?? 0, longest: took.at(-1) ?? 0 };
    });
}

/** Wait for the end of the turn that is starting. */
async function rested({ page }: Visitor): Promise<void> {
  const working = page.locator(".status .breath");
  await working.waitFor({ state: "attached" });
  await working.waitFor({ state: "detached", timeout: 200_000 });
}

/** Wait until the whole history of the open session is loaded. */
async function loaded({ page }: Visitor): Promise<void> {
  await page.waitForResponse(async (answer) => {
    if (!answer.url().includes("/events?before=")) return false;
    const { first, events } = (await answer.json()) as { first: number; events: { seq: number }[] };
    return events[0]?.seq === first;
  }, { timeout: 60_000 });
  await page.waitForTimeout(2000); // the state is rebuilt in slices
}

async function rounds<Figure>(measure: () => Promise<Figure>, worth: (figure: Figure) => number): Promise<Figure> {
  const all: Figure[] = [];
  for (let count = 0; count < ROUNDS; count += 1) all.push(await measure());
  return all.toSorted((a, b) => worth(a) - worth(b))[0]!;
}

/** Bytes on the heap after a garbage collection. */
async function heap(devtools: CDPSession): Promise<number> {
  for (let count = 0; count < 3; count += 1) await devtools.send("HeapProfiler.collectGarbage");
  return ((await devtools.send("Runtime.getHeapUsage")) as { usedSize: number }).usedSize;
}

test("the first screen of a long session", { timeout: 120_000 }, async () => {
  const visitor = await Visitor.come(server);
  await visitor.page.getByRole("button", { name: "New session" }).first().waitFor();
  await visitor.page.addInitScript((words) => {
    new MutationObserver((_, watch) => {
      if (!document.querySelector('[role="log"]')?.textContent?.includes(words)) return;
      watch.disconnect();
      requestAnimationFrame(() => setTimeout(() => Object.assign(globalThis, { shownAt: performance.now() }))); // after it was painted
    }).observe(document, { childList: true, subtree: true, characterData: true });
  }, `That was answer ${turns}.`);
  figures["first_screen"] = await rounds(async () => {
    await visitor.page.goto("about:blank");
    await visitor.page.goto(`${server.origin}/#/session/${LONG}`);
    await visitor.page.waitForFunction(() => "shownAt" in globalThis);
    return visitor.page.evaluate(() => (globalThis as unknown as { shownAt: number }).shownAt);
  }, (shownAt) => shownAt);
  await visitor.context.close();
});

test("scrolling it", { timeout: 240_000 }, async () => {
  figures["scrolling"] = await rounds(
    async () => {
      const visitor = await Visitor.come(server);
      await visit(visitor, LONG);
      await visitor.sees(`That was answer ${turns}.`);
      const box = (await visitor.log.boundingBox())!;
      await visitor.page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
      const told = await watchFrames(visitor);
      const until = Date.now() + SECONDS * 1000;
      while (Date.now() < until) {
        await visitor.page.mouse.wheel(0, -NOTCH); // up, while older events are still loading
        await new Promise((done) => setTimeout(done, FRAME));
      }
      const frames = await told();
      expect(await visitor.log.getByText(`That was answer ${turns}.`).count()).toBe(0); // the list did scroll
      await visitor.context.close();
      return frames;
    },
    (frames) => frames.longest + frames.p99,
  );
});

test("an answer that is written quickly", { timeout: 240_000 }, async () => {
  figures["writing"] = await rounds(
    async () => {
      const visitor = await Visitor.come(server);
      await begin(visitor);
      await visitor.say(`${RATE} ${RATE} 600`); // a first answer, so that lazy chunks are loaded
      await rested(visitor);
      const told = await watchFrames(visitor);
      await visitor.say(`${RATE * SECONDS} ${RATE} 3000`);
      await rested(visitor);
      const frames = await told();
      await visitor.context.close();
      return frames;
    },
    (frames) => frames.longest + frames.p99,
  );
});

/** Stream as many deltas once in another session, so that code compiled by the browser does not count as memory of the page. */
async function warm(visitor: Visitor): Promise<void> {
  await begin(visitor);
  await visitor.say(`${MANY} 0 1000`);
  await rested(visitor);
}

/** Heap sizes after few and after many deltas in the open session. */
async function growth(visitor: Visitor): Promise<{ few: number; many: number }> {
  const devtools = await visitor.context.newCDPSession(visitor.page);
  await visitor.say(`${FEW} 0 1000`);
  await rested(visitor);
  const few = await heap(devtools);
  await visitor.say(`${MANY - FEW} 0 1000`);
  await rested(visitor);
  const many = await heap(devtools);
  await visitor.context.close();
  return { few, many };
}

test("memory of a long session", { timeout: 400_000 }, async () => {
  figures["heap"] = await rounds(
    async () => {
      const visitor = await Visitor.come(server);
      await warm(visitor);
      const all = loaded(visitor);
      await visit(visitor, LONG);
      await all;
      return growth(visitor);
    },
    ({ few, many }) => many / few,
  );
});

test("memory, in a new session", { timeout: 400_000 }, async () => {
  figures["heap_new"] = await rounds(
    async () => {
      const visitor = await Visitor.come(server);
      await warm(visitor);
      await begin(visitor);
      return growth(visitor);
    },
    ({ few, many }) => many / few,
  );
});

test("what is loaded first", () => {
  const page = readFileSync(join(PAGE, "index.html"), "utf8");
  const names = [...page.matchAll(/(?:src|href)="\.?\/(assets\/[^"]+)"/g)].map((found) => found[1]!);
  const sizes = [page, ...names.map((name) => readFileSync(join(PAGE, name)))].map((content) => gzipSync(content).length);
  figures["bundle"] = sizes.reduce((sum, size) => sum + size, 0);
});

test("figures", () => {
  process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
});
