// The frame of the page: sessions on the left, a session or page in the middle, an optional panel on the right.

import { lazy, Suspense, useEffect } from "react";
import { Route, Router, Switch, useRoute } from "wouter";
import { useHashLocation } from "wouter/use-hash-location";

import { follow, useBridge, useWaiting } from "../state/bridge";
import { useEscape } from "../state/escape";
import { usePage } from "../state/page";
import { titleOf } from "../state/session-actions";
import { strings } from "../strings";
import { Guarded } from "../ui/guarded";
import { Notices } from "../ui/notices";
import "./app.css";
import { ClusterBanner } from "./cluster-banner";
import { Keys } from "./keys/keys";
import { LinkBanner } from "./link-banner";
import { NewVersion } from "./pages/new-version";
import { SidePanel } from "./panels/side-panel";
import { SessionDialogs } from "./sessions/session-dialogs";
import { SessionList } from "./sessions/session-list";
import { SessionView } from "./session-view";
import { StartPage } from "./start/start-page";

const Usage = lazy(() => import("./pages/usage").then((file) => ({ default: file.Usage })));
const Devices = lazy(() => import("./pages/devices").then((file) => ({ default: file.Devices })));
const Settings = lazy(() => import("./pages/settings").then((file) => ({ default: file.Settings })));

export function App() {
  return (
    <Router hook={useHashLocation}>
      <Frame />
    </Router>
  );
}

const closeDrawer = () => usePage.setState({ drawer: false });

function Frame() {
  const [inSession, params] = useRoute("/session/:id");
  const { drawer, dialog, panel, sidebar } = usePage();
  const refused = useBridge((known) => known.link.state === "refused");
  const [place] = useHashLocation();
  useEffect(closeDrawer, [place]); // choosing a session shows it
  useEscape("menu", drawer, closeDrawer);
  useTitle(inSession ? (params.id ?? "") : "");
  return (
    <div className="frame" data-drawer={drawer || undefined} data-sidebar={sidebar ? undefined : "hidden"}>
      <a className="skip" href="#main" onClick={(event) => (event.preventDefault(), document.querySelector<HTMLElement>("#main")?.focus())}>
        {strings.shell.skip}
      </a>
      <SessionList />
      <button type="button" className="drawer-veil" aria-label={strings.shell.closeList} tabIndex={-1} onClick={closeDrawer} />
      <main id="main" tabIndex={-1}>
        <LinkBanner />
        <ClusterBanner />
        <NewVersion />
        {!refused && (
          <Guarded place={place}>
            <Suspense fallback={null}>
              <Switch>
                <Route path="/session/:id">{({ id }) => <SessionView id={id} />}</Route>
                <Route path="/usage">
                  <Usage />
                </Route>
                <Route path="/devices">
                  <Devices />
                </Route>
                <Route path="/settings">
                  <Settings />
                </Route>
                <Route>
                  <StartPage />
                </Route>
              </Switch>
            </Suspense>
          </Guarded>
        )}
      </main>
      {inSession && params.id && !refused && (
        <Guarded place={`${place} ${panel}`}>
          <SidePanel followed={follow(params.id)} />
        </Guarded>
      )}
      <Guarded place={dialog}>
        <Keys />
        <SessionDialogs />
      </Guarded>
      <Notices />
    </div>
  );
}

/** The tab's title: how many sessions need the user, and the session that is shown. */
function useTitle(session: string): void {
  const waiting = useWaiting();
  const title = useBridge((known) => (known.sessions.has(session) ? titleOf(known.sessions.get(session)) : ""));
  useEffect(() => {
    const name = title ? `${title} · ${strings.shell.name}` : strings.shell.name;
    document.title = waiting ? `(${waiting}) ${name}` : name;
  }, [waiting, title]);
}
