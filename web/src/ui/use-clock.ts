// The time, drawn again while it matters. In: whether it does, how often. Out: now; never a time that has passed, however long nobody looked.

import { useCallback, useSyncExternalStore } from "react";

/** Finer than anybody reads it, and still the same for as long as one drawing takes. */
const GRAIN = 200;
const now = (): number => Math.ceil(Date.now() / GRAIN) * GRAIN;
const never = (): void => undefined;

export function useClock(matters: boolean, every = 1000): number {
  const watch = useCallback(
    (tick: () => void) => {
      if (!matters) return never;
      const timer = setInterval(tick, every);
      return () => clearInterval(timer);
    },
    [matters, every],
  );
  return useSyncExternalStore(watch, now);
}
