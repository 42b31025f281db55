// Creates a login link for another device. The user chooses its scopes; the link is shown once, as text and as a QR code.

import { useState } from "react";

import { reasonOf, send } from "../../protocol/api";
import { texts } from "../../protocol/wire";
import { tell } from "../../state/notices";
import { isHere } from "../../state/page";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { copyAndTell } from "../../ui/copy";
import { Icon } from "../../ui/icon";
import { SCOPES } from "./device";
import { QrCode } from "./qr-code";

const words = strings.pages.devices;

export function DeviceLink() {
  const [scopes, setScopes] = useState<readonly string[]>(["view", "prompt", "approve"]);
  const [made, setMade] = useState<{ link: string; qr: string[] }>();
  const make = async () => {
    try {
      const told = await send<{ link: string; qr: unknown }>("POST", "/api/links", { scopes, page: location.origin });
      setMade({ link: `${location.origin}/#link=${told.link}`, qr: texts(told.qr) });
    } catch (error) {
      tell(reasonOf(error), "error");
    }
  };
  const toggle = (scope: string) => {
    setMade(undefined);
    setScopes(SCOPES.filter((one) => (one === scope ? !scopes.includes(one) : scopes.includes(one))));
  };
  return (
    <section className="page-section" aria-label={words.add}>
      <h2>{words.add}</h2>
      <p>{words.addSays}</p>
      <fieldset className="scopes">
        <legend className="unseen">{words.may}</legend>
        {SCOPES.map((scope) => (
          <label key={scope} className="scope">
            <input type="checkbox" checked={scopes.includes(scope)} disabled={scope === "view"} onChange={() => toggle(scope)} />
            <strong>{words.scopes[scope]!.name}</strong>
            <small className="soft">{words.scopes[scope]!.says}</small>
          </label>
        ))}
      </fieldset>
      {isHere() && <p className="small soft">{words.onlyHere}</p>}
      {made ? <Made {...made} /> : <Button kind="main" className="device-make" onClick={() => void make()}>{words.make}</Button>}
    </section>
  );
}

function Made({ link, qr }: { link: string; qr: string[] }) {
  return (
    <div className="device-made">
      {qr.length > 0 && <QrCode rows={qr} label={words.qr} />}
      <div className="page-section grow">
        <p>{words.scan}</p>
        <div className="row">
          <input className="grow" readOnly aria-label={words.link} value={link} onFocus={(event) => event.target.select()} />
          <Button onClick={() => void copyAndTell(link)}>
            <Icon name="copy" />
            {words.copy}
          </Button>
        </div>
      </div>
    </div>
  );
}
