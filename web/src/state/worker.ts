// The service worker, which lets the page open offline, and the check for a newer version of the page.

import { create } from "zustand";

import { addressOf } from "../protocol/base-path";
import { useBridge } from "./bridge";
import { onForget } from "./forget";
import { scriptAddress } from "./trusted-scripts";

export const useVersion = create<{ newer: boolean }>(() => ({ newer: false }));

/** Browsers support service workers only over HTTPS or on localhost. */
export async function worker(): Promise<ServiceWorkerRegistration | undefined> {
  if (!("serviceWorker" in navigator)) return undefined;
  return navigator.serviceWorker.register(scriptAddress("/sw.js"), { scope: addressOf("/"), updateViaCache: "none" }).catch(() => undefined);
}

/** Open the session of a notification the user clicked. */
export function openWhatIsClicked(): void {
  navigator.serviceWorker?.addEventListener("message", ({ data }: MessageEvent<{ open?: unknown }>) => {
    const to = typeof data?.open === "string" ? data.open : "";
    if (/^#\/session\/[\w-]{1,128}$/.test(to)) location.hash = to;
  });
}

/** Script names contain a content hash, so other names mean another version. */
export const scriptsOf = (html: string): string => [...html.matchAll(/<script[^>]+src="([^"]+)"/g)].map((found) => found[1]).join(" ");

async function look(): Promise<void> {
  const own = [...document.querySelectorAll<HTMLScriptElement>("script[src]")].map((one) => one.getAttribute("src")).join(" ");
  const html = await fetch(addressOf("/"), { cache: "no-cache" }).then((answer) => (answer.ok ? answer.text() : ""), () => "");
  const served = scriptsOf(html);
  if (own && served && served !== own) useVersion.setState({ newer: true });
}

/** Check the version after each reconnect: the server may have been updated. */
export function watchVersion(): void {
  let opened = 0;
  useBridge.subscribe(({ link }, before) => {
    if (link.state === "open" && before.link.state !== "open" && opened++ > 0) void look();
  });
}

/** Close the notifications of a revoked device and unsubscribe from new ones. */
async function forgetPushed(): Promise<void> {
  const at = await navigator.serviceWorker?.getRegistration();
  for (const shown of (await at?.getNotifications()) ?? []) shown.close();
  await (await at?.pushManager?.getSubscription())?.unsubscribe();
}
onForget(() => forgetPushed().catch(() => undefined));
