// Decides when a prompt can be allowed: it was on screen for half a second, and the user has seen all of it. Prevents clicks meant for
// something else, and approvals of content below the edge.

import { useEffect, useRef, useState, type RefObject } from "react";

import { useWaited } from "../../ui/use-waited";

const NEAR = 4;
/** Elements inside the box that scroll on their own. */
const INNER = "textarea, pre, .table-box, .diff-body";

interface Armed {
  armed: boolean;
  /** Not armed because part of the content has not been seen, not because of the delay. */
  unseen: boolean;
}

interface Reached {
  down: number;
  aside: number;
}

/** Whether the bottom and right end were shown. `cut`: pixels below the edge of the window. */
function isSeen(element: Element, reached: WeakMap<Element, Reached>, cut: number): boolean {
  const before = reached.get(element) ?? { down: 0, aside: 0 };
  const down = Math.max(before.down, element.scrollTop + element.clientHeight - cut);
  const aside = Math.max(before.aside, element.scrollLeft + element.clientWidth);
  reached.set(element, { down, aside });
  return down >= element.scrollHeight - NEAR && aside >= element.scrollWidth - NEAR;
}

/** `what`: identifies the content; a change starts over. */
export function useArmed(what: string, box: RefObject<HTMLElement | null>): Armed {
  const waited = useWaited(what);
  /** Whether everything was seen; null until measured, so that the hint does not take up space before that. */
  const [seen, setSeen] = useState<{ what: string; all: boolean } | null>(null);
  /** How far the user has scrolled, down and sideways. Content that grows later must be seen too. */
  const reached = useRef(new WeakMap<Element, Reached>());
  useEffect(() => {
    reached.current = new WeakMap();
  }, [what]);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const sheet = element.closest(".prompts");
    const look = () => {
      // What the window or the sheet cuts off is not seen either.
      const edge = Math.min(innerHeight, sheet?.getBoundingClientRect().bottom ?? innerHeight);
      const cut = Math.max(0, element.getBoundingClientRect().bottom - edge);
      const all = !element.closest(".collapsed") && isSeen(element, reached.current, cut) && [...element.querySelectorAll(INNER)].every((inner) => isSeen(inner, reached.current, 0));
      setSeen({ what, all });
    };
    look();
    element.addEventListener("scroll", look, { passive: true, capture: true }); // also of what is inside
    sheet?.addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    const sizes = new ResizeObserver(look);
    sizes.observe(element);
    for (const child of element.children) sizes.observe(child);
    const changes = new MutationObserver(look);
    changes.observe(element, { childList: true, subtree: true, characterData: true });
    return () => {
      element.removeEventListener("scroll", look, { capture: true });
      sheet?.removeEventListener("scroll", look);
      removeEventListener("resize", look);
      sizes.disconnect();
      changes.disconnect();
    };
  }, [box, what]);
  const looked = seen?.what === what;
  return { armed: waited && looked && seen.all, unseen: looked && !seen.all };
}
