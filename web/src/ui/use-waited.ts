// Whether something has been on screen for a moment. A click on something that has just appeared was not meant for it and is ignored.

import { useEffect, useState } from "react";

const MOMENT = 500;

/** `what`: identifies the thing shown; a change restarts the delay. */
export function useWaited(what: unknown): boolean {
  const [waited, setWaited] = useState<unknown>(null);
  useEffect(() => {
    const timer = setTimeout(() => setWaited(what), MOMENT);
    return () => clearTimeout(timer);
  }, [what]);
  return waited === what;
}
