// Commands of which nobody knows whether they were done: the machine that they were for did not answer. In: what was asked. Out: the id under
// which the same is asked again, so that it is done once.

import type { Commands } from "../protocol/messages";
import { newId } from "../protocol/socket";

/** What must not be done twice. All else is as well done again: whoever presses Stop once more wants it stopped now. */
const ONCE: ReadonlySet<string> = new Set<string>(["send", "start", "fork", "retry"]);
/** Whoever says the same later than that means it anew. */
const MEMORY = 180_000;

export class Unsure {
  #kept = new Map<string, { id: string; until: number }>();

  /** The id for something that is asked now. */
  id(name: keyof Commands, fields: unknown, now = Date.now()): string {
    const known = this.#kept.get(contentOf(name, fields));
    return known && known.until > now ? known.id : newId();
  }

  /** Nobody answered it. */
  keep(id: string, name: keyof Commands, fields: unknown, now = Date.now()): void {
    for (const [content, one] of this.#kept) if (one.until <= now) this.#kept.delete(content);
    if (ONCE.has(name)) this.#kept.set(contentOf(name, fields), { id, until: now + MEMORY });
  }

  /** It was done, or refused: the next one is another. */
  settle(name: keyof Commands, fields: unknown): void {
    this.#kept.delete(contentOf(name, fields));
  }

  clear(): void {
    this.#kept.clear();
  }
}

const contentOf = (name: keyof Commands, fields: unknown): string => JSON.stringify([name, fields]);
