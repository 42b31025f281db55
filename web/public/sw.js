// The service worker: opens the page offline and shows push notifications. It never caches anything under /api.

const CACHE = "handrail-page-1";
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
      for (const name of await caches.keys()) if (name.startsWith("handrail-") && name !== CACHE) await caches.delete(name);
      await self.clients.claim();
    })(),
  ),
);

/** Cache the page and the files it refers to: enough to open offline. */
async function keepPage() {
  const cache = await caches.open(CACHE);
  const answer = await fetch("/", { cache: "no-cache" });
  if (!answer.ok) return;
  const html = await answer.clone().text();
  await cache.put("/", answer);
  const named = [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map((found) => found[1]).filter((path) => !path.startsWith("/api"));
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
  if (method !== "GET" || origin !== location.origin || pathname.startsWith("/api") || pathname === "/ws" || pathname === "/metrics") return;
  if (mode === "navigate" && pathname === "/") event.respondWith(page(event));
  else if (pathname.startsWith("/assets/") || /^\/[\w.-]+\.(?:svg|png|webmanifest)$/.test(pathname)) event.respondWith(asset(event.request, pathname));
});

/** The newest page; offline, the cached one. */
async function page(event) {
  const cache = await caches.open(CACHE);
  try {
    const answer = await fetch(event.request);
    if (answer.ok) event.waitUntil(keepNewest(cache, answer.clone()));
    return answer;
  } catch (error) {
    const kept = await cache.match("/");
    if (kept) return kept;
    throw error;
  }
}

/** Cache the page. If it changed, the server was updated, and everything cached before is deleted. */
async function keepNewest(cache, answer) {
  const [html, before] = [await answer.clone().text(), await (await cache.match("/"))?.text()];
  if (before !== undefined && before !== html) for (const old of await cache.keys()) await cache.delete(old);
  await cache.put("/", answer);
}

/** Assets with a hash in their name never change, so the cached copy is used. Others are requested first. */
async function asset(request, path) {
  const cache = await caches.open(CACHE);
  const kept = await cache.match(path);
  if (kept && path.startsWith("/assets/")) return kept;
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
  const keys = (await cache.keys()).filter((one) => new URL(one.url).pathname.startsWith("/assets/"));
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
    icon: "/icon-192.png",
    badge: "/icon-192.png",
    data: { session },
  });
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data?.session ?? ""));
});

/** Open the session in an existing window, or in a new one. */
async function open(session) {
  const path = /^[\w-]{1,128}$/.test(session) ? `/#/session/${session}` : "/";
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const shown = windows.find((one) => one.visibilityState === "visible") ?? windows[0];
  if (!shown) return self.clients.openWindow(path);
  await shown.focus();
  shown.postMessage({ open: path.slice(1) }); // oxlint-disable-line unicorn/require-post-message-target-origin -- a window of ours, not a frame
  return undefined;
}
