// The page's ear for keys, and the two dialogs that belong to it: all keys, and the palette. Escape goes to what is innermost. Ctrl+C is
// never taken: it copies.

import { lazy, Suspense, useEffect } from "react";
import { useLocation, useRoute } from "wouter";

import { follow } from "../../state/bridge";
import { escape } from "../../state/escape";
import { boundTo, isTyping } from "../../state/keys";
import { usePage } from "../../state/page";
import { ACTIONS, IN_SESSION, type Place } from "./actions";

const Palette = lazy(() => import("./palette").then((module) => ({ default: module.Palette })));
const KeysDialog = lazy(() => import("./keys-dialog").then((module) => ({ default: module.KeysDialog })));

export function Keys() {
  const dialog = usePage((page) => page.dialog);
  const [inSession, params] = useRoute("/session/:id");
  const [, go] = useLocation();
  const session = inSession ? params.id : "";
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.isComposing || event.defaultPrevented) return;
      if (event.key === "Escape") {
        if (escape()) event.preventDefault();
        return;
      }
      const bound = boundTo(event, isTyping(event.target));
      if (!bound || (IN_SESSION.has(bound.id) && !session)) return;
      // Behind a dialog nothing happens, except that the palette leaves as it came.
      if (usePage.getState().dialog && bound.id !== "palette") return;
      event.preventDefault();
      ACTIONS[bound.id]?.(placeOf(session, go));
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [session, go]);
  return (
    <Suspense fallback={null}>
      {dialog === "palette" && <Palette place={placeOf(session, go)} />}
      {dialog === "keys" && <KeysDialog />}
    </Suspense>
  );
}

const placeOf = (session: string, go: (path: string) => void): Place => ({ followed: session ? follow(session) : null, go });
