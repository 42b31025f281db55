// Shows the list of sessions where it is hidden: on narrow screens, and where the user hid it.

import { useWaiting } from "../../state/bridge";
import { keysOf } from "../../state/keys";
import { showList, usePage } from "../../state/page";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import "./drawer-button.css";

function open(): void {
  showList();
  requestAnimationFrame(() => document.querySelector<HTMLElement>(".session-list button")?.focus());
}

export function DrawerButton() {
  const drawer = usePage((page) => page.drawer);
  const waiting = useWaiting();
  const label = waiting ? `${strings.sessions.open}: ${waiting} ${strings.sessions.states.needs}` : strings.sessions.open;
  return (
    <Button kind="quiet" className="drawer-button" aria-label={label} title={label} keys={keysOf("sidebar")} aria-expanded={drawer} onClick={open}>
      <Icon name="menu" />
      {waiting > 0 && <span className="drawer-count">{waiting}</span>}
    </Button>
  );
}
