// NATS does not answer: what that means for whoever looks, in one quiet line.

import { useBridge } from "../state/bridge";
import { useCluster } from "../state/cluster";
import { strings } from "../strings";
import { visible } from "../ui/visible";
import { Icon } from "../ui/icon";

export function ClusterBanner() {
  const away = useCluster(({ cluster }) => cluster !== null && !cluster.up);
  const runs = useCluster(({ cluster }) => cluster?.machines.find((one) => one.name === cluster.me && one.runs)?.name ?? "");
  const open = useBridge((known) => known.link.state === "open"); // else that is told, and this may no longer be true
  if (!away || !open) return null;
  return (
    <p className="cluster-banner row" role="status">
      <Icon name="machine" />
      <span>{strings.machines.away(visible(runs, true))}</span>
    </p>
  );
}
