// The box with the content of a prompt. It scrolls as a whole, also by keyboard; everything must be seen before it can be allowed.

import type { ReactNode, RefObject } from "react";

export function Look({ box, label, className = "", children }: { box: RefObject<HTMLDivElement | null>; label: string; className?: string; children: ReactNode }) {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- scrollable regions must be reachable by keyboard
    <div ref={box} className={`prompt-look ${className}`} tabIndex={0} role="group" aria-label={label}>
      {children}
    </div>
  );
}
