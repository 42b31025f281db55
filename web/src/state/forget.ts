// A device that is let in no more: all that it was told goes, from the screen and from what the browser keeps. In: what each part of the page
// has to forget. Out: one call that forgets it all.

const parts = new Set<() => unknown>();

/** Forget this too. */
export const onForget = (part: () => unknown): void => void parts.add(part);

export function forgetAll(): void {
  for (const part of parts) part();
}
