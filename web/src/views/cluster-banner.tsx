// A banner shown while NATS does not respond.

import { useBridge } from "../state/bridge";
import { useCluster } from "../state/cluster";
import { strings } from "../strings";
import { visible } from "../ui/visible";
import { Icon } from "../ui/icon";

export function ClusterBanner() {
  const away = useCluster(({ cluster }) => cluster !== null && !cluster.up);
  const runs = useCluster(({ cluster }) => cluster?.machines.find((one) => one.name === cluster.me && one.runs)?.name ?? "");
  const open = useBridge((known) => known.link.state === "open"); // otherwise the connection banner is shown, and this state may be outdated
  if (!away || !open) return null;
  return (
    <p className="cluster-banner row" role="status">
      <Icon name="machine" />
      <span>{strings.machines.away(visible(runs, true))}</span>
    </p>
  );
}
