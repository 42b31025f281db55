// How long ago something happened, updated by one timer for all. The tooltip has the full date.

import { useSyncExternalStore } from "react";

import { strings } from "../strings";

const EVERY = 30_000;
let now = Date.now();
const listeners = new Set<() => void>();
let clock: ReturnType<typeof setInterval> | undefined;

function listen(listener: () => void): () => void {
  listeners.add(listener);
  clock ??= setInterval(() => {
    now = Date.now();
    for (const one of listeners) one();
  }, EVERY);
  return () => {
    listeners.delete(listener);
    if (listeners.size) return;
    clearInterval(clock);
    clock = undefined;
  };
}

export function TimeAgo({ time }: { time: number }) {
  const at = useSyncExternalStore(listen, () => now);
  const date = new Date(time);
  if (!time || Number.isNaN(date.getTime())) return null;
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString()}>
      {strings.sessions.ago(Math.max(0, at - time))}
    </time>
  );
}
