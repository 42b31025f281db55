// Has something been on the screen for a moment? What appears under a finger is not read yet, so a yes to it counts only after that.

import { useEffect, useState } from "react";

const MOMENT = 500;

/** `what`: the thing that is shown; another thing begins anew. */
export function useWaited(what: unknown): boolean {
  const [waited, setWaited] = useState<unknown>(null);
  useEffect(() => {
    const timer = setTimeout(() => setWaited(what), MOMENT);
    return () => clearTimeout(timer);
  }, [what]);
  return waited === what;
}
