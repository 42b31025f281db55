// The pending question whether to trust a folder's own settings. Set from the answers to start, resume and fork.

import { create } from "zustand";

import { number, object, objects, text } from "../protocol/wire";
import { onForget } from "./forget";

/** One thing the folder's own files would run or change. */
export interface TrustItem {
  kind: string;
  name: string;
  text: string;
  path: string;
  line: number;
}

export interface TrustQuestion {
  session: string;
  /** Identifies exactly what was shown. If the files have changed since, the server refuses. */
  digest: string;
  items: TrustItem[];
  complete: boolean;
}

export const useTrust = create<{ asked: TrustQuestion | null }>(() => ({ asked: null }));

/** The question in an answer, or null. */
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

/** Digests the user declined. The same question is not asked again unless the user requests it. */
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
