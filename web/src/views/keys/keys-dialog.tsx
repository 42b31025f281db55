// The keyboard shortcuts dialog, generated from the table in state/keys.ts.

import { BINDINGS, keyNames, type Group } from "../../state/keys";
import { closeDialog } from "../../state/page";
import { strings } from "../../strings";
import { Dialog } from "../../ui/dialog";
import "./keys.css";

const words = strings.keys;
const GROUPS: Group[] = ["writing", "prompt", "view", "sessions", "session", "panels"];

export function KeysDialog() {
  return (
    <Dialog title={words.title} onClose={closeDialog} wide>
      <div className="keys-groups">
        {GROUPS.filter((group) => BINDINGS.some((one) => one.group === group && one.keys.length > 0)).map((group) => (
          <section key={group} aria-label={words.groups[group]}>
            <h3>{words.groups[group]}</h3>
            <dl className="keys-list">
              {BINDINGS.filter((one) => one.group === group && one.keys.length > 0).map((one) => (
                <div key={one.id}>
                  <dt>{words.labels[one.id]}</dt>
                  <dd>
                    {one.keys.map((keys) => (
                      <span key={keys} className="keys-chord">
                        {keyNames(keys).map((name) => (
                          <kbd key={name}>{name}</kbd>
                        ))}
                      </span>
                    ))}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
