// Which rows the reader has opened. Kept outside the components, because rows outside the viewport are unmounted.

import { useState, type ToggleEvent } from "react";
import { useParams } from "wouter";

import { onForget } from "../../state/forget";

const opened = new Map<string, boolean>();
onForget(() => opened.clear());

/** Whether a row is open. Until it is toggled, it is open if one of the rows `inside` it is. */
export function useOpen(key: string, inside: readonly string[] = []): [boolean, (open: boolean) => void] {
  const { id: session = "" } = useParams<{ id: string }>(); // keys made from sequence numbers are unique in their session only
  const known = (row: string) => opened.get(`${session} ${row}`);
  const [open, setOpen] = useState(known(key) ?? inside.some(known));
  const set = (next: boolean) => {
    opened.set(`${session} ${key}`, next);
    setOpen(next);
  };
  return [open, set];
}

/** The same as properties of a <details> element. */
export function useDetails(key: string, inside: readonly string[] = []) {
  const [open, setOpen] = useOpen(key, inside);
  return { open, onToggle: (event: ToggleEvent<HTMLDetailsElement>) => setOpen(event.currentTarget.open) };
}
