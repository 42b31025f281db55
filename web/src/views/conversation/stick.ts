// Keeps a list scrolled to its end while the reader is there. Only the reader leaves the end, by scrolling up; rows that arrive or change their
// height never do. While a mouse button or a finger is down, the list does not scroll: a click counts only if its element is still under the
// pointer, and a selection grows with whatever passes under it.

import { useCallback, useEffect, useRef, useState, type RefObject } from "react";
import type { VListHandle } from "virtua";

const NEAR_END = 40;
const RELEASES = ["pointerup", "pointercancel", "contextmenu", "blur"];

const scrollerIn = (box: RefObject<HTMLElement | null>) => box.current?.querySelector(".rows");

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
  const pressed = useRef(false);

  const settle = useCallback((value: boolean) => {
    sticks.current = value;
    setAtEnd(value);
  }, []);
  const pull = useCallback(() => {
    // Not `scrollTo` of the list: it repeats the scroll for a while as rows are measured, also after the reader has pressed or left.
    const scroller = scrollerIn(box);
    if (scroller && sticks.current && !pressed.current) scroller.scrollTop = scroller.scrollHeight;
  }, [box]);
  const toEnd = useCallback(() => {
    settle(true);
    pull();
  }, [settle, pull]);
  const scrolled = useCallback(
    (offset: number) => {
      const handle = list.current;
      if (!handle) return;
      // A list that becomes taller changes its offset by itself; that is not the reader scrolling.
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
    const scroller = scrollerIn(box);
    const inside = scroller?.firstElementChild;
    if (!scroller || !inside) return undefined;
    const watch = new ResizeObserver(pull);
    watch.observe(inside);
    watch.observe(scroller);
    return () => watch.disconnect();
  }, [box, pull]);

  useEffect(() => {
    const scroller = scrollerIn(box);
    const press = (event: Event) => {
      pressed.current = (event as PointerEvent).button === 0; // other buttons open menus, and their release is not always reported
    };
    const release = () => {
      if (!pressed.current) return;
      pressed.current = false;
      requestAnimationFrame(pull); // after the click
    };
    scroller?.addEventListener("pointerdown", press);
    for (const type of RELEASES) addEventListener(type, release);
    return () => {
      scroller?.removeEventListener("pointerdown", press);
      for (const type of RELEASES) removeEventListener(type, release);
    };
  }, [box, pull]);

  return { atEnd, toEnd, scrolled };
}
