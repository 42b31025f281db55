// Turns notifications of this browser on or off, or says why they are unavailable.

import { useEffect } from "react";

import { lookAtPush, turnOff, turnOn, usePush } from "../../state/push";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";

const words = strings.pages.push;

export function Notifications() {
  const { state, busy } = usePush();
  useEffect(() => void lookAtPush(), []);
  const reason = words.reasons[state];
  const stands = state === "on" ? words.isOn : state === "off" ? words.isOff : (reason ?? words.unknown);
  return (
    <section className="page-section" aria-label={words.title}>
      <h2>{words.title}</h2>
      <p>{words.says}</p>
      <p className="row" role="status">
        <Icon name="bell" />
        {stands}
      </p>
      <div className="row">
        {state === "on" && (
          <Button disabled={busy} onClick={() => void turnOff()}>
            {words.off}
          </Button>
        )}
        {(state === "off" || state === "failed") && (
          <Button kind="main" disabled={busy} onClick={() => void turnOn()}>
            {words.on}
          </Button>
        )}
      </div>
    </section>
  );
}
