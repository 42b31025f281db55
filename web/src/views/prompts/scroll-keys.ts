// Scroll keys move the content of a prompt while the prompt itself has the focus. Returns whether the key was handled.

const LINE = 40;

const STEPS: Record<string, (page: number, all: number) => number> = {
  ArrowDown: () => LINE,
  ArrowUp: () => -LINE,
  PageDown: (page) => page,
  " ": (page) => page,
  PageUp: (page) => -page,
  End: (_, all) => all,
  Home: (_, all) => -all,
};

export function scrollBy(key: string, box: HTMLElement | null): boolean {
  const step = Object.hasOwn(STEPS, key) ? STEPS[key] : undefined;
  if (!step || !box) return false;
  box.scrollTop += step(Math.max(LINE, box.clientHeight - LINE), box.scrollHeight);
  return true;
}
