// Handles global shortcuts, and contains the shortcuts dialog and the palette. Escape closes the innermost thing. Ctrl+C is never
// intercepted, as it copies.

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
      // An open dialog blocks all shortcuts except the palette's own, which closes it.
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
