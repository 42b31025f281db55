// The dialogs about sessions, each loaded on first use.

import { lazy, Suspense } from "react";

import { usePage } from "../../state/page";
import { useTrust } from "../../state/trust";

const NewSession = lazy(() => import("./new-session").then((file) => ({ default: file.NewSession })));
const Forks = lazy(() => import("./forks").then((file) => ({ default: file.Forks })));
const ConnectModel = lazy(() => import("../connect/connect-model").then((file) => ({ default: file.ConnectModel })));
const Trust = lazy(() => import("./trust").then((file) => ({ default: file.Trust })));

const DIALOGS: Partial<Record<string, React.ComponentType<{ subject: string }>>> = { "new-session": NewSession, forks: Forks, connect: ConnectModel };

export function SessionDialogs() {
  const { dialog, subject } = usePage();
  const asked = useTrust((trust) => trust.asked);
  const Shown = DIALOGS[dialog];
  return (
    <Suspense fallback={null}>
      {Shown && <Shown subject={subject} />}
      {asked && !Shown && <Trust asked={asked} />}
    </Suspense>
  );
}
