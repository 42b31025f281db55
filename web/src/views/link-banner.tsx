// The state of the connection while it is not open.

import { REVOKED } from "../protocol/socket";
import { socket, useBridge } from "../state/bridge";
import { strings } from "../strings";
import { Button } from "../ui/button";
import { useClock } from "../ui/use-clock";

export function LinkBanner() {
  const link = useBridge((known) => known.link);
  const refused = useBridge((known) => known.refused);
  const now = useClock(link.state === "lost", 500);
  if (link.state === "open") return null;
  if (link.state === "refused") {
    const revoked = link.code === REVOKED;
    return (
      <div className="link-banner refused" role="alert">
        <h1>{revoked ? strings.shell.revoked : strings.shell.refused}</h1>
        {refused && <p>{refused}</p>}
        <p>{revoked ? strings.shell.revokedHelp : strings.shell.refusedHelp}</p>
      </div>
    );
  }
  const words = link.state === "connecting" ? strings.shell.connecting : strings.shell.lost(Math.max(0, Math.ceil((link.retryAt - now) / 1000)));
  return (
    <div className="link-banner row" role="status">
      <span className="grow">{words}</span>
      {link.state === "lost" && (
        <Button kind="quiet" onClick={() => void socket.connect()}>
          {strings.shell.tryNow}
        </Button>
      )}
    </div>
  );
}
