// Polls the lines of the inspector while it is open and not paused.

import { useEffect, useRef, useState } from "react";

import { get, reasonOf } from "../../protocol/api";
import type { Event } from "../../protocol/messages";
import { number, type Json } from "../../protocol/wire";
import { joined, linesOfEvents, linesOfWire, type Line } from "./inspected";

export type Source = "wire" | "events";

interface Read {
  lines: Line[];
  first: number;
}

const EVERY = 1000;
const NEWEST = 2 ** 53;

const READ: Record<Source, (session: string, after: number) => Promise<Read>> = {
  async wire(session, after) {
    const told = await get<Json>(`/api/sessions/${session}/wire?after=${after}`);
    return { lines: linesOfWire(told), first: number(told["first"]) };
  },
  async events(session, after) {
    const told = await get<{ events: Event[]; first: number }>(`/api/sessions/${session}/events?${after ? `after=${after}` : `before=${NEWEST}`}&limit=1000`);
    return { lines: linesOfEvents(told.events), first: told.first };
  },
};

interface Inspected {
  lines: Line[];
  /** The number of lines dropped. */
  dropped: number;
  problem: string;
  /** Loaded at least once. */
  read: boolean;
}

/** The source must not change during the life of the component. */
export function useInspected(session: string, source: Source, paused: boolean): Inspected {
  const [known, setKnown] = useState<Inspected>({ lines: [], dropped: 0, problem: "", read: false });
  const last = useRef(0);
  useEffect(() => {
    if (paused) return undefined;
    let wanted = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async () => {
      try {
        const { lines, first } = await READ[source](session, last.current);
        if (!wanted) return;
        const anew = lines.length > 0 && lines.at(-1)!.n < last.current; // a new process restarts the numbering
        last.current = lines.at(-1)?.n ?? last.current;
        const dropped = source === "wire" ? Math.max(0, first - 1) : 0;
        setKnown((before) => (lines.length === 0 && before.read && !before.problem ? before : { problem: "", lines: joined(anew ? [] : before.lines, lines), dropped, read: true }));
      } catch (error) {
        if (wanted) setKnown((before) => ({ ...before, problem: reasonOf(error) }));
      }
      if (wanted) timer = setTimeout(look, EVERY);
    };
    void look();
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [session, source, paused]);
  return known;
}
