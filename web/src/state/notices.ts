// Short words to the user that pass: something was refused, something was copied. In: words. Out: a store; each goes by itself.

import { create } from "zustand";

import { onForget } from "./forget";

interface Passing {
  id: number;
  text: string;
  tone: "info" | "error";
}

export const useNotices = create<{ all: Passing[] }>(() => ({ all: [] }));

let next = 1;

export function tell(text: string, tone: Passing["tone"] = "info"): void {
  const id = next++;
  useNotices.setState(({ all }) => ({ all: [...all.slice(-3), { id, text, tone }] }));
  setTimeout(() => dismiss(id), tone === "error" ? 12_000 : 4000);
}

export const dismiss = (id: number): void => useNotices.setState(({ all }) => ({ all: all.filter((one) => one.id !== id) }));

onForget(() => useNotices.setState({ all: [] }));
