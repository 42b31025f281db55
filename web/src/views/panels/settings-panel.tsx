// Settings of the session, of new sessions and of the page. The dialog without a session has only the last two.

import { useId, useState, type KeyboardEvent } from "react";

import type { Followed } from "../../state/followed";
import { openDialog } from "../../state/page";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { DefaultSettings } from "../settings/default-settings";
import { LookSettings } from "../settings/look-settings";
import { SessionSettings } from "../settings/session-settings";
import "../settings/settings.css";

const TABS = ["session", "defaults"] as const;
type Tab = (typeof TABS)[number];

export function SettingsPanel({ followed }: { followed?: Followed }) {
  const [tab, setTab] = useState<Tab>(followed ? "session" : "defaults");
  const words = strings.panels.settings;
  const id = useId();
  return (
    <>
      {followed ? (
        <>
          <Tabs id={id} tab={tab} onTab={setTab} />
          <div className="panel-part" role="tabpanel" id={`${id}-body`} aria-labelledby={`${id}-${tab}`}>
            {tab === "session" ? <SessionSettings followed={followed} /> : <DefaultSettings />}
          </div>
        </>
      ) : (
        <section className="panel-part">
          <h3>{words.defaults}</h3>
          <DefaultSettings />
        </section>
      )}
      <section className="panel-part" aria-label={words.look}>
        <h3>{words.look}</h3>
        <LookSettings />
        <div>
          <Button onClick={() => openDialog("keys")}>{words.keys}</Button>
        </div>
      </section>
    </>
  );
}

function Tabs({ id, tab, onTab }: { id: string; tab: Tab; onTab(tab: Tab): void }) {
  const press = (event: KeyboardEvent) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    const next = TABS[1 - TABS.indexOf(tab)]!;
    onTab(next);
    document.getElementById(`${id}-${next}`)?.focus();
  };
  return (
    <div className="tabs" role="tablist" aria-label={strings.panels.names.settings}>
      {TABS.map((one) => (
        <button key={one} type="button" role="tab" id={`${id}-${one}`} aria-controls={`${id}-body`} aria-selected={one === tab} tabIndex={one === tab ? 0 : -1} onClick={() => onTab(one)} onKeyDown={press}>
          {strings.panels.settings[one]}
        </button>
      ))}
    </div>
  );
}
