// A notice that a newer version of the page is available. Reloading keeps drafts and sessions.

import { useVersion } from "../../state/worker";
import { strings } from "../../strings";
import { Button } from "../../ui/button";

export function NewVersion() {
  const newer = useVersion((version) => version.newer);
  if (!newer) return null;
  return (
    <div className="link-banner row" role="status">
      <span className="grow">{strings.pages.update.there}</span>
      <Button kind="quiet" onClick={() => location.reload()}>
        {strings.pages.update.reload}
      </Button>
    </div>
  );
}
