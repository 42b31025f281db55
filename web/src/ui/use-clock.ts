// The current time, which re-renders the component at an interval while `matters` is true. Always current, even after a pause.

import { useCallback, useSyncExternalStore } from "react";

/** Resolution in milliseconds: finer than what is displayed, but constant during one render. */
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
