// Keeps the keyboard focus on a call whose row is replaced by another one, for example when calls are folded into one line.

import { useCallback, type RefCallback } from "react";

/** The calls whose element lost the focus because it was removed in the current commit. */
let lost: readonly string[] = [];

/** A ref for the element that has the focus for these calls. React detaches the old element before it attaches the new one. */
export function useKeptFocus(calls: readonly string[]): RefCallback<HTMLElement> {
  const ids = calls.join(" ");
  return useCallback(
    (element: HTMLElement) => {
      const mine = ids.split(" ");
      if (mine.some((id) => lost.includes(id)) && document.activeElement === document.body) element.focus({ preventScroll: true });
      return () => {
        if (document.activeElement !== element) return;
        lost = mine;
        queueMicrotask(() => (lost = [])); // a commit is synchronous; a row scrolled back into view later must not take the focus
      };
    },
    [ids],
  );
}
