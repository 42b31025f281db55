// Escape, innermost first. In: what is open says so, with its rank. Out: one press closes one thing, the innermost.

import { useEffect, useRef } from "react";

/** What Escape does, in this order: a menu or panel closes, a prompt is denied, an input is emptied, a turn is stopped. */
const RANKS = { menu: 0, dialog: 1, panel: 2, prompt: 3, input: 4, turn: 5 } as const;
type Rank = keyof typeof RANKS;

interface Layer {
  rank: Rank;
  /** Out: whether there was something to do. */
  leave(): boolean;
}

const layers = new Set<Layer>();

/** Press Escape. Out: whether anything was done. */
export function escape(): boolean {
  const innermost = [...layers].toReversed().toSorted((a, b) => RANKS[a.rank] - RANKS[b.rank]);
  return innermost.some((layer) => layer.leave());
}

/** While `active`, Escape may call this. `leave` says false where it has nothing to do. */
export function useEscape(rank: Rank, active: boolean, leave: () => boolean | void): void {
  const latest = useRef(leave);
  latest.current = leave;
  useEffect(() => {
    if (!active) return undefined;
    const layer: Layer = { rank, leave: () => latest.current() !== false };
    layers.add(layer);
    return () => void layers.delete(layer);
  }, [rank, active]);
}
