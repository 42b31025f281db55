// The page as an app: it can be installed, opens without a server and says so, never keeps what the API told, and shows what is pushed.

import { afterAll, beforeAll, expect, test } from "vitest";

import { Server } from "./server";
import { part, Visitor } from "./visitor";

let server: Server;
let ann: Visitor;

beforeAll(async () => {
  server = await Server.start();
  ann = await Visitor.come(server, { notifies: true });
});

afterAll(() => part(server, ann));

test("a browser can install the page", async () => {
  const manifest = (await ann.page.evaluate(async () => (await fetch("/manifest.webmanifest")).json())) as { name: string; icons: { src: string; sizes: string }[] };
  expect(manifest.name).toBe("Handrail");
  for (const icon of manifest.icons) {
    const size = await ann.page.evaluate(async (src) => {
      const picture = new Image();
      picture.src = src;
      await picture.decode();
      return `${picture.naturalWidth}x${picture.naturalHeight}`;
    }, icon.src);
    if (icon.sizes !== "any") expect(size).toBe(icon.sizes);
  }
  expect(await ann.page.evaluate(async () => (await navigator.serviceWorker.ready).scope)).toBe(`${server.origin}/`);
});

test("no API response is cached", async () => {
  await ann.startSession();
  await ann.say("a secret of mine");
  await ann.sees("This is Demo mode");
  const kept = await ann.page.evaluate(async () => {
    const names = await caches.keys();
    const all = await Promise.all(names.map(async (name) => (await (await caches.open(name)).keys()).map((one) => new URL(one.url).pathname)));
    return all.flat();
  });
  expect(kept).toContain("/");
  expect(kept.filter((path) => !/^\/(?:assets\/[\w.-]+|[\w-]+\.(?:svg|png|webmanifest))?$/.test(path))).toEqual([]);
});

test("without the server the page still opens, and says that it is offline", async () => {
  await expect.poll(() => ann.page.evaluate(() => navigator.serviceWorker.controller !== null)).toBe(true);
  await server.kill();
  await ann.page.reload();
  await ann.page.getByText(/Connection lost/).waitFor();
  await server.start();
  await ann.page.getByText(/Connection lost/).waitFor({ state: "detached" });
  await ann.sees("a secret of mine");
});

test("a push notification names its session and opens it", async () => {
  await ann.context.grantPermissions(["notifications"], { origin: server.origin });
  const worker = ann.context.serviceWorkers()[0]!;
  const shown = await worker.evaluate(async () => {
    const scope = globalThis as unknown as { registration: ServiceWorkerRegistration; dispatchEvent(event: Event): void };
    const push = new (globalThis as unknown as { PushEvent: new (kind: string, fields: object) => Event }).PushEvent("push", { data: JSON.stringify({ kind: "needs_you", session: "abc-1", title: "Fix the login" }) });
    scope.dispatchEvent(push);
    for (let tries = 0; tries < 50; tries++) {
      const [one] = await scope.registration.getNotifications();
      if (one) return { title: one.title, data: one.data as unknown, tag: one.tag };
      await new Promise((done) => setTimeout(done, 100));
    }
    return null;
  });
  expect(shown).toEqual({ title: "Fix the login needs you", data: { session: "abc-1" }, tag: "abc-1" });
});

test("notifications are requested only by a click, and the page says why they are unavailable", async () => {
  await ann.page.goto(`${server.origin}/#/devices`);
  await ann.page.getByRole("region", { name: "Notifications" }).getByText(/Notifications are off in this browser|could not be subscribed/).waitFor();
  await ann.page.getByRole("button", { name: "Turn on notifications" }).waitFor();
});

test("a newer version of the page is announced", async () => {
  await ann.page.route(`${server.origin}/`, async (route) => {
    if (route.request().isNavigationRequest()) return route.continue();
    const answer = await route.fetch();
    return route.fulfill({ response: answer, body: (await answer.text()).replace(/index-[\w-]+\.js/, "index-newer.js") });
  });
  await server.kill();
  await ann.page.getByText(/Connection lost/).waitFor();
  await server.start();
  await ann.page.getByText("A new version is available.").waitFor();
  await ann.page.getByRole("button", { name: "Reload" }).waitFor();
});
