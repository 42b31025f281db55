// The permission mode, with a description of each. Bypass is listed only if the session already has it.

import { useMode } from "../../state/about";
import { command, useMay } from "../../state/bridge";
import type { Followed } from "../../state/followed";
import { strings } from "../../strings";
import { modeName } from "../../strings/settings";
import { Menu } from "../../ui/menu";
import { modeOptions, type Mode } from "../settings/options";

const words = strings.composer;

export function ModeMenu({ followed }: { followed: Followed }) {
  const mode = useMode(followed);
  const mayApprove = useMay("approve");
  const choose = (chosen: Mode) => void command("set_permission_mode", { session: followed.id, mode: chosen });
  const items = modeOptions(mode === "bypassPermissions").map(({ value, name, what }) => ({ id: value, label: name, help: what, chosen: value === mode, pick: () => choose(value as Mode) }));
  return (
    <Menu
      up
      label={`${words.mode}: ${modeName(mode)}`}
      title={mayApprove ? words.chooseMode : words.modeMayNot}
      button={<span className="one-line">{modeName(mode)}</span>}
      items={items}
      disabled={!mayApprove}
    />
  );
}
