// Keyboard shortcuts: one table of all actions, and how a key press is matched. Actions that the message field or the prompt handles are
// listed too, for the shortcuts dialog; these lack `global`.

export type Group = "writing" | "prompt" | "view" | "sessions" | "session" | "panels";

interface Binding {
  id: string;
  /** `Mod` is Ctrl, or Command on a Mac. Letters with Alt are matched by their physical key, as Alt types other characters. */
  keys: readonly string[];
  group: Group;
  /** Works everywhere on the page. */
  global?: boolean;
  /** Only while no text field has the focus. */
  quiet?: boolean;
}

export const BINDINGS: readonly Binding[] = [
  { id: "submit", keys: ["Enter"], group: "writing" },
  { id: "newline", keys: ["Shift+Enter"], group: "writing" },
  { id: "history", keys: ["ArrowUp"], group: "writing" },
  { id: "historyDown", keys: ["ArrowDown"], group: "writing" },
  { id: "slash", keys: ["/"], group: "writing" },
  { id: "mention", keys: ["@"], group: "writing" },
  { id: "copy", keys: ["Mod+C"], group: "writing" },
  { id: "escape", keys: ["Escape"], group: "writing" },

  { id: "allow", keys: ["Y"], group: "prompt" },
  { id: "allowSession", keys: ["S"], group: "prompt" },
  { id: "deny", keys: ["N", "Escape"], group: "prompt" },
  { id: "denyWhy", keys: ["R"], group: "prompt" },
  { id: "edit", keys: ["E"], group: "prompt" },
  { id: "otherPrompt", keys: ["ArrowLeft", "ArrowRight"], group: "prompt" },

  { id: "palette", keys: ["Mod+K", "Mod+/"], group: "view", global: true },
  { id: "clear", keys: ["Alt+K"], group: "view", global: true },
  { id: "showAll", keys: [], group: "view", global: true },
  { id: "keys", keys: ["?"], group: "view", global: true, quiet: true },
  { id: "focus", keys: ["Alt+I"], group: "view", global: true },
  { id: "focusLog", keys: ["Alt+L"], group: "view", global: true },
  { id: "stop", keys: [], group: "view", global: true },
  { id: "sidebar", keys: ["Alt+B"], group: "view", global: true },
  { id: "theme", keys: ["Alt+T"], group: "view", global: true },

  { id: "newSession", keys: ["Alt+N"], group: "sessions", global: true },
  { id: "needsYou", keys: ["Alt+A"], group: "sessions", global: true },
  { id: "nextSession", keys: ["Alt+ArrowDown"], group: "sessions", global: true },
  { id: "previousSession", keys: ["Alt+ArrowUp"], group: "sessions", global: true },
  { id: "search", keys: ["Alt+S"], group: "sessions", global: true },
  { id: "usage", keys: ["Alt+U"], group: "sessions", global: true },
  { id: "devices", keys: [], group: "sessions", global: true },
  { id: "connect", keys: [], group: "sessions", global: true },
  { id: "preferences", keys: [], group: "sessions", global: true },

  { id: "fork", keys: [], group: "session", global: true },
  { id: "forks", keys: [], group: "session", global: true },
  { id: "archive", keys: [], group: "session", global: true },
  { id: "exportMarkdown", keys: [], group: "session", global: true },
  { id: "exportJson", keys: [], group: "session", global: true },
  { id: "stopProcess", keys: [], group: "session", global: true },

  { id: "tasks", keys: ["Alt+1"], group: "panels", global: true },
  { id: "changes", keys: ["Alt+2"], group: "panels", global: true },
  { id: "context", keys: ["Alt+3"], group: "panels", global: true },
  { id: "mcp", keys: ["Alt+4"], group: "panels", global: true },
  { id: "help", keys: ["Alt+5"], group: "panels", global: true },
  { id: "settings", keys: ["Alt+6"], group: "panels", global: true },
  { id: "inspector", keys: ["Alt+7"], group: "panels", global: true },
];

export interface Press {
  key: string;
  code: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
}

const isMac = (): boolean => /Mac|iP(hone|ad)/.test(navigator.platform || navigator.userAgent);

/** Whether a press matches the key. */
export function matches(press: Press, keys: string): boolean {
  const parts = keys.split("+");
  const name = parts.at(-1)!;
  const mod = parts.includes("Mod");
  const alt = parts.includes("Alt");
  if (mod !== (press.ctrlKey || press.metaKey) || alt !== press.altKey) return false;
  // Whether a punctuation character needs Shift depends on the keyboard layout.
  if (/^[A-Z]$|^Arrow|^Enter$/.test(name) && parts.includes("Shift") !== press.shiftKey) return false;
  if (alt && /^[A-Z]$/.test(name)) return press.code === `Key${name}`;
  if (alt && /^\d$/.test(name)) return press.code === `Digit${name}`;
  return press.key.toLowerCase() === name.toLowerCase();
}

/** The global action of a press, if any. */
export function boundTo(press: Press, writing: boolean): Binding | undefined {
  return BINDINGS.find((one) => one.global && !(one.quiet && writing) && one.keys.some((keys) => matches(press, keys)));
}

const NAMES: Record<string, string> = { ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc" };

/** The keys as labelled on the keyboard. */
export function keyNames(keys: string, mac = isMac()): string[] {
  return keys.split("+").map((part) => (part === "Mod" ? (mac ? "⌘" : "Ctrl") : part === "Alt" && mac ? "⌥" : (NAMES[part] ?? part)));
}

/** The first key of an action, as a tooltip shows it; undefined if it has none. */
export function keysOf(id: string): string | undefined {
  const keys = BINDINGS.find((one) => one.id === id)?.keys[0];
  return keys && keyNames(keys).join("+");
}

const BUTTONS = ["button", "submit", "file", "radio", "checkbox"];

/** Whether text can be typed into the target. */
export function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return !BUTTONS.includes(target.type);
  return target instanceof HTMLElement && (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement);
}
