// Messages and answers that the server has not acknowledged, kept per tab. After a reload they are sent again under the same id, so each
// is executed once. A duplicated tab has a copy and sends it too, under the same id.

import type { Commands } from "../protocol/messages";
import { isObject } from "../protocol/wire";
import { onForget } from "./forget";

const KEY = "handrail.undelivered";

/** Commands that contain text the user would lose. */
type Kept = "send" | "answer";
const KEPT: ReadonlySet<string> = new Set<Kept>(["send", "answer"]);

export type Undelivered = { [Name in Kept]: { id: string; name: Name; fields: Commands[Name]["fields"]; time: number } }[Kept];

let all: Undelivered[] = read();

function read(): Undelivered[] {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter(isUndelivered) : [];
  } catch {
    return []; // a browser without storage keeps nothing
  }
}

/** The storage of a tab may come from another version of the page. */
function isUndelivered(one: unknown): one is Undelivered {
  return isObject(one) && typeof one["id"] === "string" && KEPT.has(String(one["name"])) && isObject(one["fields"]) && typeof one["time"] === "number";
}

/** If there is not enough room for all, the oldest are kept. Delivered commands are always removed, even if nothing can be written. */
function write(): void {
  try {
    sessionStorage.removeItem(KEY);
    for (let kept = all; kept.length && !isWritten(kept); ) kept = kept.slice(0, -1);
  } catch {
    // A browser without storage keeps nothing.
  }
}

function isWritten(kept: readonly Undelivered[]): boolean {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(kept));
    return true;
  } catch {
    return false;
  }
}

const timeOf = (id: string): number | undefined => all.find((one) => one.id === id)?.time;

export const undelivered = {
  all: (): readonly Undelivered[] => all,
  add(id: string, name: keyof Commands, fields: unknown): void {
    if (!KEPT.has(name)) return;
    all = [...all.filter((one) => one.id !== id), { id, name, fields, time: timeOf(id) ?? Date.now() } as Undelivered];
    write();
  },
  /** The server executed or refused it, or it is given up. */
  delete(id: string): void {
    if (!all.some((one) => one.id === id)) return;
    all = all.filter((one) => one.id !== id);
    write();
  },
  /** Read the storage again, as a reloaded page does; for tests. */
  reload(): void {
    all = read();
  },
};

onForget(() => {
  all = [];
  write();
});
