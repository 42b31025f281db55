// The actions of the global shortcuts, which the palette offers too.

import { useBridge, waits } from "../../state/bridge";
import type { SessionShown } from "../../protocol/messages";
import type { Followed } from "../../state/followed";
import { tell } from "../../state/notices";
import { BINDINGS } from "../../state/keys";
import { closeDialog, focusSearch, openDialog, openPanel, PANELS, setTheme, toggleSidebar, usePage, type Theme } from "../../state/page";
import { archiveSession, exportLink, forkSession, stopSession } from "../../state/session-actions";
import { strings } from "../../strings";
import { stopTurn } from "../composer/send";
import { inOrder } from "../sessions/session-order";

export interface Place {
  followed: Followed | null;
  go(path: string): void;
}

type Action = (place: Place) => unknown;

const THEMES: Theme[] = ["system", "light", "dark"];

const listed = (): SessionShown[] => inOrder(useBridge.getState().sessions.values());

/** The id of the next or previous session in a list, wrapping around. */
export function following(all: readonly { id: string }[], now: string, by: number): string | undefined {
  const at = all.findIndex((one) => one.id === now);
  if (all.length === 0) return undefined;
  if (at < 0) return all[by > 0 ? 0 : all.length - 1]!.id;
  return all[(at + by + all.length) % all.length]!.id;
}

const walk = (by: number): Action => ({ followed, go }) => {
  const next = following(listed(), followed?.id ?? "", by);
  if (next) go(`/session/${next}`);
};

const needsYou: Action = ({ followed, go }) => {
  const waiting = listed().filter(waits);
  const next = following(waiting, followed?.id ?? "", 1);
  if (next) go(`/session/${next}`);
  else tell(strings.keys.noneNeeds);
};

/** Do it with the session that is shown. */
const inSession = (act: (session: SessionShown) => unknown): Action => ({ followed }) => {
  const session = followed && useBridge.getState().sessions.get(followed.id);
  if (session) act(session);
};

const focus = (selector: string): Action => () => document.querySelector<HTMLElement>(selector)?.focus();

export const ACTIONS: Record<string, Action> = {
  palette: () => (usePage.getState().dialog === "palette" ? closeDialog() : openDialog("palette")),
  keys: () => openDialog("keys"),
  clear: ({ followed }) => followed?.clear(),
  showAll: ({ followed }) => followed?.showAll(),
  focus: focus(".composer textarea"),
  focusLog: focus(".rows"),
  stop: ({ followed }) => followed?.use.getState().state.turn.running && stopTurn(followed.id),
  sidebar: toggleSidebar,
  theme: () => setTheme(THEMES[(THEMES.indexOf(usePage.getState().theme) + 1) % THEMES.length]!),
  newSession: () => openDialog("new-session"),
  search: () => focusSearch(),
  needsYou,
  nextSession: walk(1),
  previousSession: walk(-1),
  usage: ({ go }) => go("/usage"),
  devices: ({ go }) => go("/devices"),
  preferences: ({ go }) => go("/settings"),
  connect: () => openDialog("connect"),
  fork: async ({ followed, go }) => {
    const made = followed && (await forkSession(followed.id));
    if (made) go(`/session/${made}`);
  },
  forks: ({ followed }) => followed && openDialog("forks", followed.id),
  archive: inSession((session) => archiveSession(session, !session.archived)),
  exportMarkdown: ({ followed }) => followed && location.assign(exportLink(followed.id, "markdown")),
  exportJson: ({ followed }) => followed && location.assign(exportLink(followed.id, "json")),
  stopProcess: inSession(stopSession),
  ...Object.fromEntries(PANELS.map((panel) => [panel, ({ followed }: Place) => followed && openPanel(panel)])),
};

/** What can be done only in a session. */
export const IN_SESSION = new Set<string>(["clear", "showAll", "focus", "focusLog", "stop", ...BINDINGS.filter((one) => one.group === "session").map((one) => one.id), ...PANELS]);
