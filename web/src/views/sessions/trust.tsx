// Asks whether to trust a folder's own settings, and lists everything they would run or change.

import { own } from "../../protocol/wire";
import { useState } from "react";

import { command, put, useBridge, useMay } from "../../state/bridge";
import { tell } from "../../state/notices";
import { askTrust, leaveOut, type TrustItem, type TrustQuestion } from "../../state/trust";
import type { SessionShown } from "../../protocol/messages";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Icon } from "../../ui/icon";
import { useWaited } from "../../ui/use-waited";
import { visible } from "../../ui/visible";
import { VisibleText } from "../../ui/visible-text";
import "./trust.css";

const words = strings.sessions.trust;

export function Trust({ asked }: { asked: TrustQuestion }) {
  const cwd = useBridge((known) => known.sessions.get(asked.session)?.cwd ?? "");
  const mayAdmin = useMay("admin");
  const [busy, setBusy] = useState(false);
  const armed = useWaited(asked);
  const accept = async () => {
    setBusy(true);
    const told = await command("accept_trust", { session: asked.session, digest: asked.digest });
    setBusy(false);
    askTrust(null);
    if (!told) return;
    if (told["session"]) put([told["session"] as SessionShown]);
    tell(words.accepted);
  };
  return (
    <Dialog title={words.title} onClose={leaveOut} wide>
      <p className="trust-folder">
        <Icon name="folder" /> <code>{visible(cwd, true)}</code>
      </p>
      <p>{words.says}</p>
      <ul className="trust-items">
        {asked.items.map((item, at) => (
          <Item key={at} item={item} />
        ))}
      </ul>
      {!asked.complete && <p className="trust-more">{words.incomplete}</p>}
      <p className="soft">{words.until}</p>
      {!mayAdmin && <p className="soft">{words.noAdmin}</p>}
      <footer className="dialog-foot">
        <Button onClick={leaveOut}>{words.no}</Button>
        {mayAdmin && (
          <Button kind="main" disabled={!armed || busy} onClick={() => void accept()}>
            {words.yes}
          </Button>
        )}
      </footer>
    </Dialog>
  );
}

function Item({ item }: { item: TrustItem }) {
  return (
    <li className="trust-item">
      <div className="row">
        <strong>{own(words.kinds, item.kind) ?? item.kind}</strong>
        <code className="grow">
          <VisibleText text={item.name} />
        </code>
      </div>
      <pre>
        <VisibleText text={item.text} />
      </pre>
      <small className="soft">
        <VisibleText text={words.where(item.path, item.line)} />
      </small>
    </li>
  );
}
