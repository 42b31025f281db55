// Slash commands of the page itself: they open a panel or dialog and are not sent.

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

/** The suggested ones, with a description. */
export const OFFERED = Object.entries(strings.composer.own).map(([name, description]) => ({ name, description, argumentHint: "" }));

/** Only without arguments: `/mcp reconnect x` is sent to the CLI. Returns whether it was one of them. */
export function runOwn(text: string): boolean {
  const run = OWN.get(/^\/([\w-]+)\s*$/.exec(text)?.[1] ?? "");
  run?.();
  return run !== undefined;
}
