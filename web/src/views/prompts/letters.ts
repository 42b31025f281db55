// Single-letter shortcuts of a prompt, active while it has the focus and no text is being typed.

import { useEffect, useRef, type RefObject } from "react";

import { isTyping } from "../../state/keys";

/** Milliseconds: letters in faster succession are text meant for another place. */
const PAUSE = 500;
const ALLOWING = ["y", "s"];
let written = -Infinity;
let before = -Infinity;

addEventListener(
  "keydown",
  (event) => {
    const blank = event.key === " " && !isTyping(event.target); // Space scrolls
    if (event.key.length !== 1 || blank || event.ctrlKey || event.metaKey || event.altKey) return;
    before = written;
    written = Date.now();
  },
  true,
);

const isWriting = (): boolean => written - before < PAUSE;

export function useLetters(inside: RefObject<HTMLElement | null>, busy: boolean, letters: Record<string, () => unknown>): void {
  const latest = useRef({ busy, letters });
  latest.current = { busy, letters };
  useEffect(() => {
    const prompt = inside.current?.closest<HTMLElement>("[role=alertdialog]");
    const press = (event: KeyboardEvent) => {
      const act = latest.current.letters[event.key.toLowerCase()];
      // A key held down was pressed for something else.
      if (!act || latest.current.busy || event.repeat || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (ALLOWING.includes(event.key.toLowerCase()) && isWriting()) return;
      event.preventDefault();
      act();
    };
    prompt?.addEventListener("keydown", press);
    return () => prompt?.removeEventListener("keydown", press);
  }, [inside]);
}
