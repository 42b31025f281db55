// Messages and answers that the server has not acknowledged, kept per tab. After a reload they are sent again under the same id, so each
// is executed once.

import type { Commands } from "../protocol/messages";
import { onForget } from "./forget";

const KEY = "handrail.undelivered";

/** Commands in which a person's words would be lost. */
type Kept = "send" | "answer";
const KEPT: ReadonlySet<string> = new Set<Kept>(["send", "answer"]);

export type Undelivered = { [Name in Kept]: { id: string; name: Name; fields: Commands[Name]["fields"] } }[Kept];

let all: Undelivered[] = read();

function read(): Undelivered[] {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? (kept as Undelivered[]) : [];
  } catch {
    return []; // a browser without storage keeps nothing
  }
}

function write(): void {
  try {
    if (all.length) sessionStorage.setItem(KEY, JSON.stringify(all));
    else sessionStorage.removeItem(KEY);
  } catch {
    // A browser without storage keeps nothing.
  }
}

export const undelivered = {
  all: (): readonly Undelivered[] => all,
  add(id: string, name: keyof Commands, fields: unknown): void {
    if (!KEPT.has(name)) return;
    all = [...all.filter((one) => one.id !== id), { id, name, fields } as Undelivered];
    write();
  },
  /** The server executed or refused it. */
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
