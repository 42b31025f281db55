// Creates a login link for another device. The user chooses its scopes; the link is shown once, as text and as a QR code.

import { useEffect, useState } from "react";

import { get, reasonOf, send } from "../../protocol/api";
import { basePath } from "../../protocol/base-path";
import { texts } from "../../protocol/wire";
import { tell } from "../../state/notices";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Copy, copyAndTell } from "../../ui/copy";
import { Icon } from "../../ui/icon";
import { SCOPES } from "./device";
import { QrCode } from "./qr-code";

const words = strings.pages.devices;

export function DeviceLink() {
  const [scopes, setScopes] = useState<readonly string[]>(["view", "prompt", "approve"]);
  const [made, setMade] = useState<{ link: string; qr: string[] }>();
  const phone = usePhone();
  const make = async () => {
    try {
      const told = await send<{ link: string; page: string; qr: unknown }>("POST", "/api/links", { scopes, page: `${location.origin}${basePath()}` });
      setMade({ link: `${told.page}/#link=${told.link}`, qr: texts(told.qr) });
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
      {phone && <PhoneSteps phone={phone} />}
      {made ? <Made {...made} /> : <Button kind="main" className="device-make" onClick={() => void make()}>{words.make}</Button>}
    </section>
  );
}

interface Phone {
  /** The address that other devices can reach; "" if none can. */
  address: string;
  /** Of a certificate that the server made itself; "" for one that browsers know. */
  fingerprint: string;
}

function usePhone(): Phone | null {
  const [phone, setPhone] = useState<Phone | null>(null);
  useEffect(() => void get<Phone>("/api/phone").then(setPhone, () => undefined), []);
  return phone;
}

/** What to do until a phone can open the link. */
function PhoneSteps({ phone }: { phone: Phone }) {
  const steps = phone.address ? words.phone.ready : words.phone.closed;
  return (
    <div className="phone-steps" role="note" aria-label={words.phone.title}>
      <h3>{words.phone.title}</h3>
      {!phone.address && <p>{words.phone.onlyHere}</p>}
      <ol>
        {steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
        {phone.fingerprint && (
          <li>
            {words.phone.warning} <code className="phone-fingerprint">{phone.fingerprint}</code>
          </li>
        )}
      </ol>
      {!phone.address && (
        <div className="row phone-command">
          <code className="grow">{words.phone.command}</code>
          <Copy text={words.phone.command} label={strings.connect.copy} />
        </div>
      )}
    </div>
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
