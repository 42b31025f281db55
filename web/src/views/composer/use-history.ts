// Up and down through what was said before. In: keys in a field where nothing else is written. Out: what stands in the field next.

import { useRef } from "react";

import type { Followed } from "../../state/followed";
import { historyOf } from "./history";

interface Recall {
  /** Out: the text to show, or null where the key is not for this. */
  step(key: string, text: string): string | null;
  /** A text that was thrown away can be called back. */
  drop(text: string): void;
}

export function useHistory(followed: Followed): Recall {
  const at = useRef({ place: -1, shown: "", dropped: "" });
  const all = () => {
    const { rows, queue } = followed.use.getState().state;
    return [...(at.current.dropped ? [at.current.dropped] : []), ...historyOf(rows, queue)];
  };
  const step = (key: string, text: string): string | null => {
    const now = at.current;
    const walking = now.place >= 0 && text === now.shown;
    if (!walking && text !== "") return null;
    if (!walking) now.place = -1;
    const by = { ArrowUp: 1, ArrowDown: -1 }[key];
    const texts = all();
    const next = now.place + (by ?? 0);
    if (!by || (now.place < 0 && by < 0) || next >= texts.length) return null;
    now.place = next;
    now.shown = next < 0 ? "" : texts[next]!;
    return now.shown;
  };
  return {
    step,
    drop(text) {
      at.current = { place: -1, shown: "", dropped: text };
    },
  };
}
