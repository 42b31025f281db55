// Toasts: short messages to the user that disappear by themselves, unless they must not be missed.

import { create } from "zustand";

import { onForget } from "./forget";

interface Passing {
  id: number;
  text: string;
  tone: "info" | "error";
  stays: boolean;
}

export const useNotices = create<{ all: Passing[] }>(() => ({ all: [] }));

let next = 1;

export function tell(text: string, tone: Passing["tone"] = "info"): void {
  const id = show(text, tone, false);
  setTimeout(() => dismiss(id), tone === "error" ? 12_000 : 4000);
}

/** An error that stays until the user dismisses it: something the user did had no effect. */
export const tellUntilDismissed = (text: string): void => void show(text, "error", true);

function show(text: string, tone: Passing["tone"], stays: boolean): number {
  const id = next++;
  useNotices.setState(({ all }) => {
    const passing = all.filter((one) => !one.stays).slice(-3);
    return { all: [...all.filter((one) => one.stays || passing.includes(one)), { id, text, tone, stays }] };
  });
  return id;
}

export const dismiss = (id: number): void => useNotices.setState(({ all }) => ({ all: all.filter((one) => one.id !== id) }));

onForget(() => useNotices.setState({ all: [] }));
