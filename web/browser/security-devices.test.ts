// Who looks at the page, and what may reach it: other sites, a frame, a script that got in, a device that may only look, one that was sent away.
// Rows W12 and W16 of the threat model, seen from the page.

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server as Listener } from "node:http";
import type { AddressInfo } from "node:net";

import { afterAll, beforeAll, expect, test } from "vitest";

import { openPanel, picture } from "./at-panel";
import { on, use, words } from "./replies";
import { Server } from "./server";
import { begin, command, visit } from "./session";
import { part, Visitor } from "./visitor";

let server: Server;
let ann: Visitor;
let elsewhere: Listener;
let evil = "";
const asked: IncomingMessage[] = [];

beforeAll(async () => {
  elsewhere = createServer((request, answer) => {
    asked.push(request);
    answer.setHeader("content-type", "text/html");
    answer.end(request.url?.startsWith("/frame") ? `<iframe src="${server.origin}/" name="inside"></iframe>` : "<title>elsewhere</title>");
  }).listen(0, "127.0.0.1");
  await once(elsewhere, "listening");
  evil = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
  const replies = [
    on("link", words(`Look at [this](${evil}/led).`)),
    on("secret", words("The answer for one device only.")),
    on("wait for me", words("May I?"), use("Bash", { command: "touch waited.txt" })),
  ];
  server = await Server.start({ script: { replies, afterwards: { blocks: [words("Fine.")] } } });
  ann = await Visitor.come(server, { notifies: true });
  ann.page.setDefaultTimeout(20_000);
});
afterAll(async () => {
  await part(server, ann);
  elsewhere.close();
});

/** Somebody who came by a link with these scopes. */
async function guest(...scopes: string[]): Promise<Visitor> {
  const made = await ann.context.request.post(`${server.origin}/api/links`, { data: { scopes, page: server.origin }, headers: { origin: server.origin } });
  const { link } = (await made.json()) as { link: string };
  const visitor = await Visitor.come(server);
  await visitor.context.clearCookies();
  await visitor.page.goto("about:blank");
  const login = visitor.page.waitForResponse((response) => response.url().endsWith("/api/login"));
  await visitor.page.goto(`${server.origin}/#link=${link}`);
  await login; // the list may appear before the link is exchanged for a cookie
  await visitor.page.getByRole("navigation", { name: "Sessions" }).waitFor();
  visitor.page.setDefaultTimeout(20_000);
  return visitor;
}

const everything = (visitor: Visitor): Promise<string> => visitor.page.evaluate(() => document.documentElement.outerHTML + JSON.stringify({ ...localStorage }) + JSON.stringify({ ...sessionStorage }));

test("an injected script cannot turn text into code: the page has one policy, for one address", async () => {
  const page = await ann.context.newPage();
  await page.goto(server.origin);
  await page.getByRole("navigation", { name: "Sessions" }).waitFor();
  // In a timer: what the browser's own tools call at once is free of the policy.
  const told = await page.evaluate(() => new Promise<string[]>((done) => setTimeout(() => {
    const tries: Record<string, () => unknown> = {
      markup: () => (document.body.innerHTML = "<img src=x onerror=window.__xss=1>"),
      after: () => document.body.insertAdjacentHTML("beforeend", "<b>x</b>"),
      written: () => document.write("<b>x</b>"),
      // oxlint-disable-next-line no-eval -- that it does not work is what is shown
      evaluated: () => (0, eval)("window.__xss=1"),
      made: () => new Function("window.__xss=1")(),
      source: () => (document.createElement("script").src = "/assets/x.js"),
      worker: () => new Worker("/sw.js"),
      another: () => (globalThis as unknown as { trustedTypes: { createPolicy(name: string, rules: object): void } }).trustedTypes.createPolicy("evil", {}),
      cleaner: () => (globalThis as unknown as { trustedTypes: { createPolicy(name: string, rules: object): void } }).trustedTypes.createPolicy("dompurify", {}),
      standard: () => (globalThis as unknown as { trustedTypes: { createPolicy(name: string, rules: object): void } }).trustedTypes.createPolicy("default", { createHTML: (text: string) => text }),
      again: () => (globalThis as unknown as { trustedTypes: { createPolicy(name: string, rules: object): void } }).trustedTypes.createPolicy("handrail", { createScriptURL: (text: string) => text }),
    };
    const worked = Object.entries(tries).filter(([, attempt]) => {
      try {
        attempt();
        return true;
      } catch {
        return false;
      }
    });
    done(worked.map(([name]) => name));
  })));
  expect(told).toEqual([]);
  const reached = await page.evaluate(async (address) => {
    const breaches: string[] = [];
    document.addEventListener("securitypolicyviolation", (event) => breaches.push(event.effectiveDirective));
    const image = new Image();
    const failed = new Promise((done) => (image.onerror = done));
    image.src = `${address}/picture`;
    await failed;
    await fetch(`${address}/fetched`, { mode: "no-cors" }).catch(() => undefined);
    const frame = document.createElement("iframe");
    frame.src = `${address}/framed`;
    document.body.append(frame);
    const inline = document.createElement("style");
    inline.textContent = "body { display: none }";
    document.head.append(inline);
    await new Promise((done) => setTimeout(done, 100));
    return { breaches: [...new Set(breaches)].toSorted(), shown: getComputedStyle(document.body).display, ran: (globalThis as Record<string, unknown>)["__xss"] };
  }, evil);
  expect(reached).toEqual({ breaches: expect.arrayContaining(["connect-src", "frame-src", "img-src", "style-src-elem"]) as string[], shown: expect.not.stringMatching("none") as string, ran: undefined });
  expect(asked.filter(({ url }) => url !== "/favicon.ico")).toEqual([]);
  await page.close();
});

test("W12 an address that names another server is ignored", async () => {
  const page = await ann.context.newPage();
  const sockets: string[] = [];
  page.on("websocket", (socket) => sockets.push(socket.url()));
  page.on("request", (request) => sockets.push(request.url()));
  await page.goto(`${server.origin}/?gatewayUrl=${evil}&ws=${evil}&api=${evil}#ws=${evil}`);
  await page.getByRole("button", { name: "New session" }).first().waitFor();
  await expect.poll(() => sockets.some((url) => url.startsWith("ws:"))).toBe(true);
  expect(sockets.filter((url) => new URL(url).host !== new URL(server.origin).host)).toEqual([]);
  await page.close();
});

test("another site can neither frame the page, read it, nor send it messages", async () => {
  const page = await ann.context.newPage();
  await page.goto(`${evil}/frame`);
  await expect.poll(() => page.frames().find((frame) => frame.name() === "inside")?.url()).toMatch(/^chrome-error:/);
  const told = await page.evaluate(async (origin) => {
    const read = await fetch(`${origin}/api/sessions`, { credentials: "include" }).then(() => "read", () => "refused");
    const opened = window.open(`${origin}/`);
    await new Promise((done) => setTimeout(done, 1000));
    opened?.postMessage({ open: "#/session/evil" }, "*");
    return { read, closed: opened === null || opened.closed };
  }, server.origin);
  expect(told).toEqual({ read: "refused", closed: true }); // a window it has no reference to
  for (const other of ann.context.pages()) if (other !== ann.page && other.url().startsWith(server.origin)) expect(other.url()).not.toContain("evil");
  for (const other of ann.context.pages()) if (other !== ann.page) await other.close();
});

test("a link of the model opens without opener and referrer", async () => {
  await begin(ann);
  await ann.say("link");
  const opened = ann.context.waitForEvent("page");
  await ann.log.getByRole("link", { name: /^this/ }).click();
  const page = await opened;
  await page.waitForLoadState();
  expect(await page.evaluate(() => [window.opener, document.referrer])).toEqual([null, ""]);
  expect(asked.find(({ url }) => url === "/led")?.headers.referer).toBeUndefined();
  await page.close();
});

test("a view-only device sees the conversation and nothing of the machine; other actions are hidden or explained", async () => {
  const session = await begin(ann);
  await ann.say("wait for me");
  await ann.page.getByRole("alertdialog").waitFor();
  const looker = await guest("view");
  await looker.page.goto(`${server.origin}/#/session/${session}`);
  await looker.sees("May I?");
  const prompt = looker.page.getByRole("alertdialog");
  await prompt.getByText("This device can only view sessions.").waitFor();
  expect(await prompt.getByRole("button", { name: /^Allow/ }).first().isDisabled()).toBe(true);
  await prompt.focus();
  for (const key of ["y", "n", "Escape"]) await looker.page.keyboard.press(key);
  expect(await looker.composer.count()).toBe(0);
  expect(await looker.page.getByRole("button", { name: "New session" }).first().isDisabled()).toBe(true);
  expect(await looker.page.getByRole("button", { name: /Rename|Inspector|Delete/ }).count()).toBe(0);
  for (const panel of ["MCP servers", "Help", "Settings", "Context", "Changes", "Tasks"]) {
    await openPanel(looker, panel);
    const open = looker.page.getByRole("complementary").getByRole("button", { name: /^(Reconnect|Enable|Disable|Add|Sign in|Save|Stop)/ });
    for (const one of await open.all()) expect(await one.isDisabled(), `${panel}: ${await one.textContent()}`).toBe(true);
    expect(await everything(looker)).not.toContain(server.home);
  }
  for (const place of ["devices", "usage", "settings"]) {
    await looker.page.goto(`${server.origin}/#/${place}`);
    await looker.page.getByRole("heading", { level: 1 }).waitFor();
    expect(await everything(looker)).not.toContain(server.home);
  }
  expect(await looker.page.getByRole("button", { name: /Revoke|Create link/ }).count()).toBe(0);
  await ann.page.getByRole("alertdialog").waitFor(); // it is still unanswered
  await ann.page.getByRole("alertdialog").getByRole("button", { name: "Deny", exact: true }).click();
  await looker.leave();
}, 120_000);

test("W16 a revoked device keeps nothing on the screen, in the browser, or for the next login", async () => {
  const bob = await guest("view", "prompt", "approve");
  const session = await begin(bob);
  await bob.say("secret");
  await bob.sees("The answer for one device only.");
  await command(ann, "rename", { session, title: "A title of ours" });
  await bob.page.getByRole("heading", { level: 1, name: "A title of ours" }).waitFor();
  await bob.composer.fill("a draft of mine");
  await expect.poll(() => everything(bob)).toContain("a draft of mine");
  const { devices } = (await (await ann.context.request.get(`${server.origin}/api/devices`)).json()) as { devices: { id: string; seen: number; scopes: string[] }[] };
  const his = devices.filter((one) => one.scopes.length === 3).toSorted((a, b) => b.seen - a.seen)[0]!;
  await ann.context.request.delete(`${server.origin}/api/devices/${his.id}`, { headers: { origin: server.origin } });
  await bob.page.getByRole("alert").getByRole("heading", { name: "This device was revoked" }).waitFor();
  await bob.page.getByText("Ask the owner for a new link").waitFor();
  await picture(bob, "revoked");
  const old = /nobody else may see|A title of ours|a draft of mine/;
  await expect.poll(() => everything(bob)).not.toMatch(old);
  await bob.page.reload();
  await bob.page.getByRole("alert").getByRole("heading", { name: "This device was revoked" }).waitFor();
  expect(await everything(bob)).not.toMatch(old);
  const kept = await bob.page.evaluate(async () => {
    const all = await Promise.all((await caches.keys()).map(async (name) => (await (await caches.open(name)).matchAll()).map((one) => one.text())));
    return (await Promise.all(all.flat())).join("\n");
  });
  expect(kept).not.toMatch(old);
  await visit(ann, session); // logging in deletes nothing
  await ann.sees("The answer for one device only.");
  const made = await ann.context.request.post(`${server.origin}/api/links`, { data: { scopes: ["view"] }, headers: { origin: server.origin } });
  await bob.page.goto(`${server.origin}/#link=${((await made.json()) as { link: string }).link}`); // a new link lets it in again
  await bob.page.getByRole("alert").waitFor({ state: "detached" });
  await bob.page.getByRole("link", { name: /A title of ours/ }).waitFor();
  await bob.leave();
});

test("the service worker drops other versions of the page", async () => {
  await expect.poll(() => ann.page.evaluate(() => navigator.serviceWorker.controller !== null)).toBe(true);
  await ann.page.evaluate(async () => {
    const cache = await caches.open("handrail-page-1/");
    await cache.put("/", new Response("<title>another version</title>"));
    await cache.put("/assets/old-abc.js", new Response("old"));
  });
  await ann.page.reload();
  const kept = () => ann.page.evaluate(async () => (await (await caches.open("handrail-page-1/")).keys()).map((one) => new URL(one.url).pathname));
  await expect.poll(kept).not.toContain("/assets/old-abc.js");
  await expect.poll(kept).toContain("/");
});

test("push notifications are short plain text for any session title", async () => {
  await ann.context.grantPermissions(["notifications"], { origin: server.origin });
  const shown = await ann.context.serviceWorkers()[0]!.evaluate(async () => {
    const scope = globalThis as unknown as { registration: ServiceWorkerRegistration; dispatchEvent(event: Event): void; PushEvent: new (kind: string, fields: object) => Event };
    scope.dispatchEvent(new scope.PushEvent("push", { data: JSON.stringify({ kind: "constructor", session: "../../evil", title: `a\u202Eb\nc${"x".repeat(100_000)}` }) }));
    for (let tries = 0; tries < 50; tries++) {
      const [one] = await scope.registration.getNotifications();
      if (one) return one.title;
      await new Promise((done) => setTimeout(done, 100));
    }
    return "";
  });
  expect(shown).toMatch(/^abcx{100,120} was updated$/);
});
