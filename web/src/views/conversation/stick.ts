// Stay at the end of a list while the reader is there, and nowhere else. In: the list. Out: whether he is, and a way to go there.
// Only the reader leaves the end: by scrolling up. What grows below or changes its height never does.

import { useCallback, useEffect, useRef, useState, type RefObject } from "react";
import type { VListHandle } from "virtua";

const NEAR_END = 40;

interface Stick {
  atEnd: boolean;
  toEnd(): void;
  /** To be called with each new offset of the list. */
  scrolled(offset: number): void;
}

export function useStick(list: RefObject<VListHandle | null>, box: RefObject<HTMLElement | null>): Stick {
  const [atEnd, setAtEnd] = useState(true);
  const sticks = useRef(true);
  const before = useRef(0);
  const height = useRef(0);

  const settle = useCallback((value: boolean) => {
    sticks.current = value;
    setAtEnd(value);
  }, []);
  const pull = useCallback(() => {
    const handle = list.current;
    if (handle && sticks.current) handle.scrollTo(handle.scrollSize);
  }, [list]);
  const toEnd = useCallback(() => {
    settle(true);
    pull();
  }, [settle, pull]);
  const scrolled = useCallback(
    (offset: number) => {
      const handle = list.current;
      if (!handle) return;
      // A box that becomes higher moves what is in it by itself: that was not the reader.
      const up = offset < before.current - 1 && handle.viewportSize === height.current;
      before.current = offset;
      height.current = handle.viewportSize;
      const near = handle.scrollSize - handle.viewportSize - offset < NEAR_END;
      if (near) settle(true);
      else if (up) settle(false);
      else pull();
    },
    [list, settle, pull],
  );

  useEffect(() => {
    const scroller = box.current?.querySelector(".rows");
    const inside = scroller?.firstElementChild;
    if (!scroller || !inside) return undefined;
    const watch = new ResizeObserver(pull);
    watch.observe(inside);
    watch.observe(scroller);
    return () => watch.disconnect();
  }, [box, pull]);

  return { atEnd, toEnd, scrolled };
}
