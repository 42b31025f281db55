// The service worker and the page's own version. In: what is served now. Out: a page that opens without a network, and a word when a newer
// one is there.

import { create } from "zustand";

import { useBridge } from "./bridge";
import { onForget } from "./forget";
import { scriptAddress } from "./trusted-scripts";

export const useVersion = create<{ newer: boolean }>(() => ({ newer: false }));

/** Browsers have workers only over HTTPS or on this machine itself. */
export async function worker(): Promise<ServiceWorkerRegistration | undefined> {
  if (!("serviceWorker" in navigator)) return undefined;
  return navigator.serviceWorker.register(scriptAddress("/sw.js"), { scope: "/", updateViaCache: "none" }).catch(() => undefined);
}

/** A click on a notification leads to its session. */
export function openWhatIsClicked(): void {
  navigator.serviceWorker?.addEventListener("message", ({ data }: MessageEvent<{ open?: unknown }>) => {
    const to = typeof data?.open === "string" ? data.open : "";
    if (/^#\/session\/[\w-]{1,128}$/.test(to)) location.hash = to;
  });
}

/** The names of the scripts have a hash in them: others are another version. */
export const scriptsOf = (html: string): string => [...html.matchAll(/<script[^>]+src="([^"]+)"/g)].map((found) => found[1]).join(" ");

async function look(): Promise<void> {
  const own = [...document.querySelectorAll<HTMLScriptElement>("script[src]")].map((one) => one.getAttribute("src")).join(" ");
  const html = await fetch("/", { cache: "no-cache" }).then((answer) => (answer.ok ? answer.text() : ""), () => "");
  const served = scriptsOf(html);
  if (own && served && served !== own) useVersion.setState({ newer: true });
}

/** A server that comes back may be a newer one: each time that the line opens again, it is looked at. */
export function watchVersion(): void {
  let opened = 0;
  useBridge.subscribe(({ link }, before) => {
    if (link.state === "open" && before.link.state !== "open" && opened++ > 0) void look();
  });
}

/** Of a device that is let in no more: neither what was shown nor what would still come. */
async function forgetPushed(): Promise<void> {
  const at = await navigator.serviceWorker?.getRegistration();
  for (const shown of (await at?.getNotifications()) ?? []) shown.close();
  await (await at?.pushManager?.getSubscription())?.unsubscribe();
}
onForget(() => forgetPushed().catch(() => undefined));
