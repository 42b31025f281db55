// Roving tab index: the list is one Tab stop, and arrow keys move between lines, also to lines not rendered yet.

import { useCallback, useRef, useState, type KeyboardEvent, type RefObject } from "react";
import type { VListHandle } from "virtua";

export const STOP = "data-stop";

const STEPS: Record<string, (at: number) => [from: number, by: number]> = {
  ArrowDown: (at) => [at + 1, 1],
  ArrowUp: (at) => [at - 1, -1],
  Home: () => [0, 1],
  End: () => [Number.MAX_SAFE_INTEGER, -1],
};

/** The next line that can be focused, or -1. */
export function next(keys: readonly string[], stops: (key: string) => boolean, from: number, by: number): number {
  for (let at = Math.min(from, keys.length - 1); at >= 0 && at < keys.length; at += by) if (stops(keys[at]!)) return at;
  return -1;
}

interface Roving {
  /** The line with the Tab stop. */
  stop: string;
  take(key: string): void;
  press(event: KeyboardEvent): void;
}

export function useRoving(keys: readonly string[], stops: (key: string) => boolean, list: RefObject<VListHandle | null>, wanted: string): Roving {
  const [taken, take] = useState("");
  const box = useRef<HTMLElement | null>(null);
  const first = keys.find(stops) ?? "";
  const stop = keys.includes(taken) ? taken : keys.includes(wanted) ? wanted : first;
  const focus = useCallback((key: string) => box.current?.querySelector<HTMLElement>(`[${STOP}="${CSS.escape(key)}"]`)?.focus(), []);
  const press = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    const on = (event.target as Element).getAttribute(STOP);
    if (!step || on === null) return;
    event.preventDefault();
    box.current = event.currentTarget as HTMLElement;
    const [from, by] = step(keys.indexOf(on));
    const at = next(keys, stops, from, by);
    if (at < 0) return;
    take(keys[at]!);
    list.current?.scrollToIndex(at, { align: "nearest" });
    requestAnimationFrame(() => requestAnimationFrame(() => focus(keys[at]!))); // the line may have to be rendered first
  };
  return { stop, take, press };
}
