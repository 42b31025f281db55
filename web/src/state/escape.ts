// Escape closes one thing per press, the innermost first. Everything that can be closed registers itself with a rank.

import { useEffect, useRef } from "react";

/** What Escape does, in this order: a menu or panel closes, the message field is emptied, a prompt is denied, a turn is stopped. */
const RANKS = { menu: 0, dialog: 1, panel: 2, input: 3, prompt: 4, turn: 5 } as const;
type Rank = keyof typeof RANKS;

interface Layer {
  rank: Rank;
  /** Returns whether there was anything to do. */
  leave(): boolean;
}

const layers = new Set<Layer>();

/** Handle a press of Escape. Returns whether anything was done. */
export function escape(): boolean {
  const innermost = [...layers].toReversed().toSorted((a, b) => RANKS[a.rank] - RANKS[b.rank]);
  return innermost.some((layer) => layer.leave());
}

/** While `active`, Escape may call `leave`, which returns false if it has nothing to do. */
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
