// When something may be allowed: it was there for half a second, and all of it was on the screen. In: the box that shows it. Out: whether,
// and why not yet. Nobody allows by a click that was meant for something else, or what stands below the edge.

import { useEffect, useRef, useState, type RefObject } from "react";

import { useWaited } from "../../ui/use-waited";

const NEAR = 4;
/** What may scroll by itself inside of the box. */
const INNER = "textarea, pre, .table-box, .diff-body";

interface Armed {
  armed: boolean;
  /** Where it is not armed: is it the time, or is there something left to see? */
  unseen: boolean;
}

interface Reached {
  down: number;
  aside: number;
}

/** Was the end of this shown, below and at the side? `cut`: so much of it is below the window's edge. */
function isSeen(element: Element, reached: WeakMap<Element, Reached>, cut: number): boolean {
  const before = reached.get(element) ?? { down: 0, aside: 0 };
  const down = Math.max(before.down, element.scrollTop + element.clientHeight - cut);
  const aside = Math.max(before.aside, element.scrollLeft + element.clientWidth);
  reached.set(element, { down, aside });
  return down >= element.scrollHeight - NEAR && aside >= element.scrollWidth - NEAR;
}

/** `what`: the thing that is shown; another thing begins anew. */
export function useArmed(what: string, box: RefObject<HTMLElement | null>): Armed {
  const waited = useWaited(what);
  /** Whether all was seen; null until it was looked at, so that no hint takes away the room that it speaks of. */
  const [seen, setSeen] = useState<{ what: string; all: boolean } | null>(null);
  /** How far the user was shown it, down and to the side: what grows afterwards must be seen too. */
  const reached = useRef(new WeakMap<Element, Reached>());
  useEffect(() => {
    reached.current = new WeakMap();
  }, [what]);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const look = () => {
      // What the window cuts off is not seen either.
      const cut = Math.max(0, element.getBoundingClientRect().bottom - innerHeight);
      const all = isSeen(element, reached.current, cut) && [...element.querySelectorAll(INNER)].every((inner) => isSeen(inner, reached.current, 0));
      setSeen({ what, all });
    };
    look();
    element.addEventListener("scroll", look, { passive: true, capture: true }); // also of what is inside
    addEventListener("resize", look);
    const sizes = new ResizeObserver(look);
    sizes.observe(element);
    for (const child of element.children) sizes.observe(child);
    const changes = new MutationObserver(look);
    changes.observe(element, { childList: true, subtree: true, characterData: true });
    return () => {
      element.removeEventListener("scroll", look, { capture: true });
      removeEventListener("resize", look);
      sizes.disconnect();
      changes.disconnect();
    };
  }, [box, what]);
  const looked = seen?.what === what;
  return { armed: waited && looked && seen.all, unseen: looked && !seen.all };
}
