// Toasts, below the session's header.

import { dismiss, useNotices } from "../state/notices";
import { strings } from "../strings";
import { Button } from "./button";
import { Icon } from "./icon";
import "./notices.css";
import { visible } from "./visible";

export function Notices() {
  const all = useNotices((known) => known.all);
  return (
    <div className="passing" role="status" aria-live="polite">
      {all.map((one) => (
        <p key={one.id} className={`row ${one.tone}`} role={one.stays ? "alert" : undefined}>
          <span className="grow">{visible(one.text)}</span>
          <Button kind="quiet" aria-label={strings.shell.dismiss} onClick={() => dismiss(one.id)}>
            <Icon name="close" />
          </Button>
        </p>
      ))}
    </div>
  );
}
