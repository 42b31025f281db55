// Arrow up and down go through earlier messages while the field is otherwise empty.

import { useRef } from "react";

import type { Followed } from "../../state/followed";
import { historyOf } from "./history";

interface Recall {
  /** The text to show, or null if the key is not handled. */
  step(key: string, text: string): string | null;
  /** A cleared text can be recalled. */
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
