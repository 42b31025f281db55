// The name of a device, which can be edited.

import { useState } from "react";

import { reasonOf, send } from "../../protocol/api";
import { tell } from "../../state/notices";
import { useEscape } from "../../state/escape";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import type { Device } from "./device";

const words = strings.pages.devices;

export function DeviceName({ device, changed }: { device: Device; changed(): Promise<void> }) {
  const [name, setName] = useState<string | null>(null);
  useEscape("menu", name !== null, () => setName(null));
  const save = async () => {
    const wanted = name?.trim() ?? "";
    setName(null);
    if (!wanted || wanted === device.name) return;
    try {
      await send("PATCH", `/api/devices/${encodeURIComponent(device.id)}`, { name: wanted });
      await changed();
    } catch (error) {
      tell(reasonOf(error), "error");
    }
  };
  if (name !== null) {
    return (
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <input aria-label={words.newName} value={name} maxLength={80} ref={(field) => field?.focus()} autoComplete="off" onChange={(event) => setName(event.target.value)} />
        <Button type="submit">{strings.sessions.rename.save}</Button>
      </form>
    );
  }
  return (
    <p className="row device-name">
      <strong className="one-line">{device.name}</strong>
      {device.isThis && <span className="device-this small">{words.this}</span>}
      <Button kind="quiet" aria-label={words.rename(device.name)} title={words.rename(device.name)} onClick={() => setName(device.name)}>
        <Icon name="edit" />
      </Button>
    </p>
  );
}
