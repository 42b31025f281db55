// A place in a session that somebody wants to see: where a search found something. In: the event's number and time. Out: a store; the
// conversation goes there, and forgets it.

import { create } from "zustand";

interface Jump {
  session: string;
  seq: number;
  time: number;
}

export const useJump = create<{ to: Jump | null }>(() => ({ to: null }));
export const jumpTo = (to: Jump | null): void => useJump.setState({ to });

/** Who has just said something wants to see what comes of it, wherever he was reading. In: the session. */
export const useSaid = create<{ session: string; times: number }>(() => ({ session: "", times: 0 }));
export const saidHere = (session: string): void => useSaid.setState(({ times }) => ({ session, times: times + 1 }));
