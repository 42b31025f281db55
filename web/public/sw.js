// The service worker: opens the page offline and shows push notifications. It never caches anything under /api.

/** The path of the page: "/", or for example "/handrail/" behind a proxy. */
const BASE = new URL(".", location.href).pathname;
const CACHE = `handrail-page-1${BASE}`;
const KEPT_ASSETS = 120;
const WORDS = {
  needs_you: "needs you",
  finished: "is done",
  ended: "was interrupted",
  failed: "could not start",
};

self.addEventListener("install", (event) => event.waitUntil(keepPage().then(() => self.skipWaiting())));

self.addEventListener("activate", (event) =>
  event.waitUntil(
    (async () => {
      for (const name of await caches.keys()) if (outdated(name)) await caches.delete(name);
      await self.clients.claim();
    })(),
  ),
);

/** A cache of another version of this page; the origin may have caches of pages at other paths. */
const outdated = (name) => name !== CACHE && /^handrail-page-\d+/.test(name) && ["", BASE].includes(name.replace(/^handrail-page-\d+/, ""));

/** Cache the page and the files it refers to: enough to open offline. */
async function keepPage() {
  const cache = await caches.open(CACHE);
  const answer = await fetch(BASE, { cache: "no-cache" });
  if (!answer.ok) return;
  const html = await answer.clone().text();
  await cache.put(BASE, answer);
  const named = [...html.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map((found) => BASE + found[1]);
  await Promise.all([...new Set(named)].map((path) => keepAsset(cache, path)));
}

async function keepAsset(cache, path) {
  if (await cache.match(path)) return;
  const answer = await fetch(path).catch(() => undefined);
  if (answer?.ok && answer.type === "basic" && !answer.redirected) await cache.put(path, answer);
}

self.addEventListener("fetch", (event) => {
  const { method, mode, url } = event.request;
  const { origin, pathname } = new URL(url);
  if (method !== "GET" || origin !== location.origin || !pathname.startsWith(BASE)) return;
  const path = pathname.slice(BASE.length);
  if (mode === "navigate" && path === "") event.respondWith(page(event));
  else if (path.startsWith("assets/") || /^[\w.-]+\.(?:svg|png|webmanifest)$/.test(path)) event.respondWith(asset(event.request, pathname));
});

/** The newest page; offline, the cached one. */
async function page(event) {
  const cache = await caches.open(CACHE);
  try {
    const answer = await fetch(event.request);
    if (answer.ok) event.waitUntil(keepNewest(cache, answer.clone()));
    return answer;
  } catch (error) {
    const kept = await cache.match(BASE);
    if (kept) return kept;
    throw error;
  }
}

/** Cache the page. If it changed, the server was updated, and everything cached before is deleted. */
async function keepNewest(cache, answer) {
  const [html, before] = [await answer.clone().text(), await (await cache.match(BASE))?.text()];
  if (before !== undefined && before !== html) for (const old of await cache.keys()) await cache.delete(old);
  await cache.put(BASE, answer);
}

/** Assets with a hash in their name never change, so the cached copy is used. Others are requested first. */
async function asset(request, path) {
  const cache = await caches.open(CACHE);
  const kept = await cache.match(path);
  if (kept && path.startsWith(`${BASE}assets/`)) return kept;
  try {
    const answer = await fetch(request);
    if (answer.ok && answer.type === "basic" && !answer.redirected) {
      await cache.put(path, answer.clone());
      await forgetOldest(cache);
    }
    return answer;
  } catch (error) {
    if (kept) return kept;
    throw error;
  }
}

async function forgetOldest(cache) {
  const keys = (await cache.keys()).filter((one) => new URL(one.url).pathname.startsWith(`${BASE}assets/`));
  for (const old of keys.slice(0, Math.max(0, keys.length - KEPT_ASSETS))) await cache.delete(old);
}

self.addEventListener("push", (event) => event.waitUntil(show(event.data)));

/** An untrusted title: shortened, without invisible characters and direction overrides. */
function plain(title) {
  return typeof title === "string" ? title.slice(0, 500).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "").trim().slice(0, 120) : "";
}

async function show(data) {
  let told = {};
  try {
    told = data?.json() ?? {};
  } catch {
    // A push without valid JSON is still shown, as a general notification.
  }
  const session = typeof told.session === "string" ? told.session : "";
  const title = plain(told.title) || "A session";
  const words = Object.hasOwn(WORDS, told.kind) ? WORDS[told.kind] : "was updated";
  await self.registration.showNotification(`${title} ${words}`, {
    tag: session || "handrail", // one per session, replaced by the newest
    renotify: told.kind === "needs_you",
    requireInteraction: told.kind === "needs_you",
    icon: `${BASE}icon-192.png`,
    badge: `${BASE}icon-192.png`,
    data: { session },
  });
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data?.session ?? ""));
});

/** Open the session in an existing window, or in a new one. */
async function open(session) {
  const place = /^[\w-]{1,128}$/.test(session) ? `#/session/${session}` : "";
  const all = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const windows = all.filter((one) => new URL(one.url).pathname.startsWith(BASE));
  const shown = windows.find((one) => one.visibilityState === "visible") ?? windows[0];
  if (!shown) return self.clients.openWindow(BASE + place);
  await shown.focus();
  shown.postMessage({ open: place }); // oxlint-disable-line unicorn/require-post-message-target-origin -- a window of ours, not a frame
  return undefined;
}
