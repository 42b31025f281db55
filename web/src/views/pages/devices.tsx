// The devices page: every browser and program with access, their scopes, revoking one, and a link to add one.

import { useCallback, useEffect, useState } from "react";

import { get, reasonOf, send } from "../../protocol/api";
import { objects } from "../../protocol/wire";
import { useBridge, useMay } from "../../state/bridge";
import { tell } from "../../state/notices";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { TimeAgo } from "../../ui/time-ago";
import { deviceOf, type Device } from "./device";
import { DeviceLink } from "./device-link";
import { DeviceName } from "./device-name";
import "./devices.css";
import { Notifications } from "./notifications";
import { Page } from "./page";

const words = strings.pages.devices;
export function Devices() {
  const mayAdmin = useMay("admin");
  const known = useBridge((bridge) => bridge.hello !== null);
  return (
    <Page title={words.title}>
      {mayAdmin ? <Admitted /> : known && <p className="soft">{words.mayNot}</p>}
      <Notifications />
    </Page>
  );
}

function Admitted() {
  const [devices, setDevices] = useState<Device[]>();
  const [error, setError] = useState("");
  const read = useCallback(
    () =>
      get<{ devices: unknown }>("/api/devices").then(
        (told) => setDevices(objects(told.devices).map(deviceOf)),
        (problem: Error) => setError(problem.message),
      ),
    [],
  );
  useEffect(() => void read(), [read]);
  return (
    <>
      <section className="page-section" aria-label={words.title}>
        <p>{words.says}</p>
        {error && <p role="alert">{words.failed(error)}</p>}
        {devices && (
          <ul className="devices">
            {devices.map((one) => (
              <Line key={one.id} device={one} changed={read} />
            ))}
          </ul>
        )}
      </section>
      <DeviceLink />
    </>
  );
}

function Line({ device, changed }: { device: Device; changed(): Promise<void> }) {
  const [asking, setAsking] = useState(false);
  const revoke = async () => {
    setAsking(false);
    try {
      await send("DELETE", `/api/devices/${encodeURIComponent(device.id)}`);
      tell(words.revoked(device.name));
      if (device.isThis) location.reload();
      await changed();
    } catch (error) {
      tell(reasonOf(error), "error");
    }
  };
  return (
    <li className="device">
      <div className="grow">
        <DeviceName device={device} changed={changed} />
        <p className="small soft device-facts">
          <span>{device.kind === "program" ? words.program : words.browser}</span>
          <span title={device.scopes.map((one) => words.scopes[one]?.says ?? one).join("; ")}>
            {words.may}: {device.scopes.map((one) => (words.scopes[one]?.name ?? one).toLowerCase()).join(", ")}
          </span>
          <span>
            {words.seen}: {device.seen ? <TimeAgo time={device.seen} /> : words.never}
          </span>
          <span>
            {words.added}: <TimeAgo time={device.created} />
          </span>
        </p>
      </div>
      <Button kind="danger" aria-label={words.revokeOf(device.name)} onClick={() => setAsking(true)}>
        {words.revoke}
      </Button>
      {asking && (
        <Dialog title={words.revokeTitle} onClose={() => setAsking(false)}>
          <p>{words.revokeSays(device.name)}</p>
          {device.isThis && <p>{words.revokeSelf}</p>}
          <footer className="dialog-foot">
            <Button onClick={() => setAsking(false)}>{words.revokeNo}</Button>
            <Button kind="danger" onClick={() => void revoke()}>
              {words.revokeYes}
            </Button>
          </footer>
        </Dialog>
      )}
    </li>
  );
}
