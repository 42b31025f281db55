// Clears everything a revoked device has received, from the screen and from the browser's storage. Each part of the page registers its own
// cleanup.

const parts = new Set<() => unknown>();

/** Register a cleanup function. */
export const onForget = (part: () => unknown): void => void parts.add(part);

export function forgetAll(): void {
  for (const part of parts) part();
}
