// Who may come in: listed, and revoked at once.

import { button, find, make, notice } from "./element.js";

export async function drawDevices(fetched) {
  const redraw = () => drawDevices(fetched), told = (error) => notice(error.message);
  const { devices = [] } = await fetched("/api/devices").catch((error) => { told(error); return {}; });
  find("device-list").replaceChildren(...devices.map((device) => {
    const row = make("div", "row");
    row.append(make("span", "", `${device.name} (${device.this ? "this one" : device.kind}): ${device.scopes.join(", ")}`));
    const revoke = () => fetched(`/api/devices/${device.id}`, { method: "DELETE" }).then(redraw, told);
    row.append(button("Revoke", "deny", () => { if (confirm(`Revoke ${device.name}?`)) revoke(); }));
    return row;
  }));
}
