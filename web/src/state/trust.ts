// Whether a folder's own settings may count: what waits to be decided. In: answers to start, resume and fork. Out: a store with one question.

import { create } from "zustand";

import { number, object, objects, text } from "../protocol/wire";
import { onForget } from "./forget";

/** One thing that the folder's own files would run or change. */
export interface TrustItem {
  kind: string;
  name: string;
  text: string;
  path: string;
  line: number;
}

export interface TrustQuestion {
  session: string;
  /** Of exactly what is shown: where the files are others by then, the server refuses. */
  digest: string;
  items: TrustItem[];
  complete: boolean;
}

export const useTrust = create<{ asked: TrustQuestion | null }>(() => ({ asked: null }));

/** Out: the question, or null where there is nothing to ask. */
export function trustOf(session: string, told: unknown): TrustQuestion | null {
  const { digest, items, complete } = object(told);
  if (!text(digest)) return null;
  return {
    session,
    digest: text(digest),
    items: objects(items).map((one) => ({ kind: text(one["kind"]), name: text(one["name"]), text: text(one["text"]), path: text(one["path"]), line: number(one["line"]) })),
    complete: complete !== false,
  };
}

/** What was left out already, by digest: nobody is asked the same thing twice, unless he wants to look. */
const leftOut = new Set<string>();

export function askTrust(asked: TrustQuestion | null, again = false): void {
  if (asked && leftOut.has(asked.digest) && !again) return;
  useTrust.setState({ asked });
}

export function leaveOut(): void {
  const { asked } = useTrust.getState();
  if (asked) leftOut.add(asked.digest);
  useTrust.setState({ asked: null });
}

onForget(() => useTrust.setState({ asked: null }));
