// What is open on the page, and its appearance. Lasting choices are kept in local storage; the server knows none of this.

import { create } from "zustand";

import { onForget } from "./forget";

export const PANELS = ["tasks", "changes", "context", "mcp", "help", "settings", "inspector"] as const;
export type Panel = (typeof PANELS)[number];
export type Theme = "system" | "light" | "dark";
export type Dialog = "" | "palette" | "keys" | "new-session" | "rewind" | "forks" | "connect";

interface Page {
  panel: Panel | "";
  /** The session list is open as a drawer. */
  drawer: boolean;
  /** The list of sessions, where there is room for it beside the page. */
  sidebar: boolean;
  /** The words in the search field. */
  search: string;
  dialog: Dialog;
  /** The message or session the dialog is about. */
  subject: string;
  theme: Theme;
  sideBySide: boolean;
  wrap: boolean;
}

/** Read from local storage; "" if it is disabled. */
export function kept(name: string): string {
  try {
    return localStorage.getItem(`handrail.${name}`) ?? "";
  } catch {
    return "";
  }
}

export function keep(name: string, value: string): void {
  try {
    if (value) localStorage.setItem(`handrail.${name}`, value);
    else localStorage.removeItem(`handrail.${name}`);
  } catch {
    // Storage is disabled: the choice lasts until the page is closed.
  }
}

/** Whether the server runs on the same machine as the browser. */
export const isHere = (): boolean => ["127.0.0.1", "localhost", "[::1]"].includes(location.hostname);

export const usePage = create<Page>(() => ({
  panel: "",
  drawer: false,
  sidebar: kept("sidebar") !== "no",
  search: "",
  dialog: "",
  subject: "",
  theme: (kept("theme") || "system") as Theme,
  sideBySide: kept("side-by-side") === "yes",
  wrap: kept("wrap") !== "no",
}));

export const openPanel = (panel: Panel | ""): void => usePage.setState(({ panel: open }) => ({ panel: open === panel ? "" : panel }));
export const openDialog = (dialog: Dialog, subject = ""): void => usePage.setState({ dialog, subject });
onForget(() => usePage.setState({ panel: "", dialog: "", subject: "", search: "" }));
export const closeDialog = (): void => usePage.setState({ dialog: "", subject: "" });

export function toggleSidebar(): void {
  const sidebar = !usePage.getState().sidebar;
  keep("sidebar", sidebar ? "" : "no");
  usePage.setState({ sidebar });
}

/** Show the list of sessions, where it is a drawer and where the user hid it. */
export function showList(): void {
  if (matchMedia("(width < 640px)").matches) usePage.setState({ drawer: true });
  else if (!usePage.getState().sidebar) toggleSidebar();
}

/** Show the list of sessions and go to its search field. */
export function focusSearch(): void {
  showList();
  requestAnimationFrame(() => document.querySelector<HTMLInputElement>(".session-search input")?.focus());
}

export function setWrap(wrap: boolean): void {
  keep("wrap", wrap ? "" : "no");
  usePage.setState({ wrap });
}

export function setSideBySide(sideBySide: boolean): void {
  keep("side-by-side", sideBySide ? "yes" : "");
  usePage.setState({ sideBySide });
}

export function setTheme(theme: Theme): void {
  keep("theme", theme === "system" ? "" : theme);
  usePage.setState({ theme });
  showTheme(theme);
}

export function showTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}
