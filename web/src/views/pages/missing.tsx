// Shown for a session that does not exist, with a link back.

import { useEffect, useState } from "react";
import { useLocation } from "wouter";

import { get, Refused } from "../../protocol/api";
import { useBridge } from "../../state/bridge";
import { focusSearch } from "../../state/page";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Page } from "./page";

const words = strings.pages.missing;

/** Whether the server reports that the session does not exist. */
export function useMissing(id: string): boolean {
  const known = useBridge((bridge) => bridge.sessions.has(id));
  const listed = useBridge((bridge) => bridge.listed);
  const [missing, setMissing] = useState("");
  useEffect(() => {
    if (known || !listed) return;
    void get(`/api/sessions/${encodeURIComponent(id)}`).catch((error: unknown) => error instanceof Refused && [400, 404].includes(error.status) && setMissing(id));
  }, [id, known, listed]);
  return !known && missing === id;
}

export function Missing() {
  const [, go] = useLocation();
  return (
    <Page title={words.title}>
      <div className="page-section">
        <p>{words.says}</p>
        <div className="row">
          <Button kind="main" onClick={() => go("/")}>
            {words.back}
          </Button>
          <Button onClick={() => focusSearch()}>{words.search}</Button>
        </div>
      </div>
    </Page>
  );
}
