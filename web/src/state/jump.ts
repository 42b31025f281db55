// The place in a session to scroll to, for example a search result. The conversation scrolls there and resets the store.

import { create } from "zustand";

interface Jump {
  session: string;
  seq: number;
  time: number;
}

export const useJump = create<{ to: Jump | null }>(() => ({ to: null }));
export const jumpTo = (to: Jump | null): void => useJump.setState({ to });

/** The session in which the user last sent a message: its conversation scrolls to the end, wherever the user was reading. */
export const useSaid = create<{ session: string; times: number }>(() => ({ session: "", times: 0 }));
export const saidHere = (session: string): void => useSaid.setState(({ times }) => ({ session, times: times + 1 }));
