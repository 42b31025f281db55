// The box with what is asked about. It scrolls as a whole, by keys too: what stands below its edge must be seen before anything is allowed.

import type { ReactNode, RefObject } from "react";

export function Look({ box, label, className = "", children }: { box: RefObject<HTMLDivElement | null>; label: string; className?: string; children: ReactNode }) {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by keys
    <div ref={box} className={`prompt-look ${className}`} tabIndex={0} role="group" aria-label={label}>
      {children}
    </div>
  );
}
