// Commands that are the page's own: they open something here and are not sent. In: what was typed. Out: whether it was one of them.

import { openDialog, openPanel, usePage, type Panel } from "../../state/page";
import { strings } from "../../strings";

const showPanel = (panel: Panel) => () => {
  if (usePage.getState().panel !== panel) openPanel(panel);
};

const OWN = new Map<string, () => void>([
  ["config", showPanel("settings")],
  ["settings", showPanel("settings")],
  ["fast", showPanel("settings")],
  ["help", showPanel("help")],
  ["keybindings-help", () => openDialog("keys")],
  ["keybindings", () => openDialog("keys")],
  ["mcp", showPanel("mcp")],
]);

/** Those that are offered, with what they do. */
export const OFFERED = Object.entries(strings.composer.own).map(([name, description]) => ({ name, description, argumentHint: "" }));

/** Only where nothing follows: `/mcp reconnect x` is for the CLI. */
export function runOwn(text: string): boolean {
  const run = OWN.get(/^\/([\w-]+)\s*$/.exec(text)?.[1] ?? "");
  run?.();
  return run !== undefined;
}
