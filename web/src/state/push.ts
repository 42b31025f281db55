// Push notifications of this browser, which also arrive while the page is closed. The browser asks for permission only after the user
// clicks.

import { create } from "zustand";

import { command } from "./bridge";
import { worker } from "./worker";

type PushState = "unknown" | "on" | "off" | "insecure" | "unsupported" | "denied" | "failed";

export const usePush = create<{ state: PushState; busy: boolean }>(() => ({ state: "unknown", busy: false }));

/** Why push is unavailable according to the browser; "" if it is available. */
function obstacle(): PushState | "" {
  if (!isSecureContext) return "insecure";
  if (!("serviceWorker" in navigator) || !("PushManager" in globalThis) || !("Notification" in globalThis)) return "unsupported";
  return Notification.permission === "denied" ? "denied" : "";
}

const ready = async (): Promise<ServiceWorkerRegistration | undefined> => ((await worker()) ? navigator.serviceWorker.ready : undefined);

export async function lookAtPush(): Promise<void> {
  const blocked = obstacle();
  if (blocked) return usePush.setState({ state: blocked });
  const subscription = await (await ready())?.pushManager.getSubscription();
  return usePush.setState({ state: subscription && Notification.permission === "granted" ? "on" : "off" });
}

async function during(work: () => Promise<PushState>): Promise<void> {
  usePush.setState({ busy: true });
  const state = await work().catch((): PushState => "failed");
  usePush.setState({ busy: false, state });
}

export const turnOn = (): Promise<void> =>
  during(async () => {
    if ((await Notification.requestPermission()) !== "granted") return Notification.permission === "denied" ? "denied" : "off";
    const at = await ready();
    const told = await command("push_key", {});
    if (!at || !told) return "failed";
    const subscription = await at.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: String(told["key"]) });
    const { endpoint, keys } = subscription.toJSON();
    const done = await command("push_subscribe", { endpoint: endpoint ?? "", p256dh: keys?.["p256dh"] ?? "", auth: keys?.["auth"] ?? "" });
    if (done) return "on";
    await subscription.unsubscribe();
    return "failed";
  });

export const turnOff = (): Promise<void> =>
  during(async () => {
    const subscription = await (await ready())?.pushManager.getSubscription();
    if (!subscription) return "off";
    await command("push_unsubscribe", { endpoint: subscription.endpoint });
    await subscription.unsubscribe();
    return "off";
  });
