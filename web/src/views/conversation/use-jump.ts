// Scrolls to the place set in state/jump.ts, loading older events until it is available.

import { useEffect, type RefObject } from "react";
import type { VListHandle } from "virtua";

import type { Followed } from "../../state/followed";
import { jumpTo, useJump } from "../../state/jump";
import type { Row } from "../../state/state";
import type { Fold } from "./fold";
import { placeOf } from "./place";

const SHOWN_FOR = 2500;

export function useJumps(followed: Followed, rows: readonly (Row | Fold)[], list: RefObject<VListHandle | null>): void {
  const to = useJump((wish) => wish.to);
  const { ready, from, first } = followed.use();
  useEffect(() => {
    if (!to || to.session !== followed.id || !ready) return undefined;
    if (from > to.seq && from > first) {
      void followed.older();
      return undefined;
    }
    const at = placeOf(rows, to.time);
    if (at < 0) return undefined;
    // Row heights are known only after rendering, so scroll again then.
    const aim = () => list.current?.scrollToIndex(at, { align: "center" });
    aim();
    const again = setTimeout(() => {
      aim();
      jumpTo(null);
      requestAnimationFrame(() => requestAnimationFrame(() => point(list.current, at)));
    }, 100);
    return () => clearTimeout(again);
  }, [to, followed, rows, ready, from, first, list]);
}

/** Highlight the row for a moment. */
function point(list: VListHandle | null, at: number): void {
  const box = document.querySelector(".conversation .rows");
  if (!list || !box) return;
  const area = box.getBoundingClientRect();
  const found = document.elementFromPoint(area.left + area.width / 2, area.top + list.getItemOffset(at) - list.scrollOffset + 6);
  const row = [...(box.firstElementChild?.children ?? [])].find((one) => one.contains(found));
  row?.classList.add("jumped");
  setTimeout(() => row?.classList.remove("jumped"), SHOWN_FOR);
}
