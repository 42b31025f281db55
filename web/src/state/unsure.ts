// Commands whose outcome is unknown because the machine did not answer. Repeating one uses the same id, so that it is executed once.

import type { Commands } from "../protocol/messages";
import { newId } from "../protocol/socket";

/** Commands that must not run twice. Repeating any other is harmless. */
const ONCE: ReadonlySet<string> = new Set<string>(["send", "start", "fork", "retry"]);
/** Milliseconds after which the same command counts as a new one. */
const MEMORY = 180_000;

export class Unsure {
  #kept = new Map<string, { id: string; until: number }>();

  /** The id for a command. */
  id(name: keyof Commands, fields: unknown, now = Date.now()): string {
    const known = this.#kept.get(contentOf(name, fields));
    return known && known.until > now ? known.id : newId();
  }

  /** The command was not answered. */
  keep(id: string, name: keyof Commands, fields: unknown, now = Date.now()): void {
    for (const [content, one] of this.#kept) if (one.until <= now) this.#kept.delete(content);
    if (ONCE.has(name)) this.#kept.set(contentOf(name, fields), { id, until: now + MEMORY });
  }

  /** The command was executed or refused. */
  settle(name: keyof Commands, fields: unknown): void {
    this.#kept.delete(contentOf(name, fields));
  }

  clear(): void {
    this.#kept.clear();
  }
}

const contentOf = (name: keyof Commands, fields: unknown): string => JSON.stringify([name, fields]);
