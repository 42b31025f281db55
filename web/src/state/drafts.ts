// Unsent text of the composer, by session. Stored in local storage per tab, so it survives a reload and tabs do not overwrite each other. A
// tab without a draft takes over the newest one of another tab.

import { create } from "zustand";

import { onForget } from "./forget";
import { keep, kept } from "./page";

interface Left {
  text: string;
  time: number;
}

/** The draft of the start page is kept under this name, as those of sessions are. */
export const START = "start";
const PREFIX = "handrail.draft.";
/** Milliseconds after which a draft is deleted. */
const FORGOTTEN = 30 * 86_400_000;

const useDrafts = create<{ words: Record<string, string> }>(() => ({ words: {} }));

/** By session: the key of a draft taken over from another tab. It is deleted when this tab changes the text. */
const taken = new Map<string, string>();

/** An id of this tab that survives a reload. */
function tab(): string {
  try {
    const known = sessionStorage.getItem("handrail.tab") ?? Math.random().toString(36).slice(2, 10);
    sessionStorage.setItem("handrail.tab", known);
    return known;
  } catch {
    return "only";
  }
}

const nameOf = (session: string): string => `draft.${session}.${tab()}`;

function read(value: string): Left {
  try {
    const { text, time } = JSON.parse(value) as Partial<Left>;
    return { text: typeof text === "string" ? text : "", time: typeof time === "number" ? time : 0 };
  } catch {
    return { text: "", time: 0 };
  }
}

/** The drafts of other tabs for a session, newest first. Deletes expired drafts. */
function others(session: string): { name: string; left: Left }[] {
  const found: { name: string; left: Left }[] = [];
  try {
    for (const key of Object.keys(localStorage)) {
      if (!key.startsWith(PREFIX)) continue;
      const left = read(localStorage.getItem(key) ?? "");
      if (Date.now() - left.time > FORGOTTEN) localStorage.removeItem(key);
      else if (key.startsWith(`${PREFIX}${session}.`)) found.push({ name: key.slice("handrail.".length), left });
    }
  } catch {
    // Storage is disabled.
  }
  return found.toSorted((a, b) => b.left.time - a.left.time);
}

/** Drafts loaded from storage, by session. Read once, so that rendering does not access storage. */
const found = new Map<string, string>();

function leftOf(session: string): string {
  const known = found.get(session);
  if (known !== undefined) return known;
  const own = read(kept(nameOf(session))).text;
  const other = own ? undefined : others(session)[0];
  if (other) taken.set(session, other.name);
  const text = own || other?.left.text || "";
  found.set(session, text);
  return text;
}

/** The current text of a session, or the draft stored by this tab or another. */
export const draftOf = (session: string): string => useDrafts.getState().words[session] ?? leftOf(session);
export const useDraft = (session: string): string => useDrafts((drafts) => drafts.words[session]) ?? leftOf(session);

/** Set the text: typed by the user, or returned from a message that was not sent. */
export function setDraft(session: string, text: string): void {
  const from = taken.get(session);
  if (from) keep(from, "");
  taken.delete(session);
  useDrafts.setState(({ words }) => ({ words: { ...words, [session]: text } }));
  write(session, text);
}

function write(session: string, text: string): void {
  keep(nameOf(session), text ? JSON.stringify({ text, time: Date.now() }) : "");
}

/** Store all drafts when the page is closed: another tab may have taken one over and deleted it. */
export function keepAll(): void {
  const all = { ...Object.fromEntries(found), ...useDrafts.getState().words };
  for (const [session, text] of Object.entries(all)) if (text && !taken.has(session)) write(session, text);
}

addEventListener("pagehide", keepAll);

/** Put the text of a returned message before the current text. */
export function giveBack(session: string, text: string): void {
  const now = draftOf(session);
  setDraft(session, [text, now].filter(Boolean).join("\n"));
}

/** Reset to the state of a newly opened page; for tests. */
export function forgetDrafts(): void {
  taken.clear();
  found.clear();
  useDrafts.setState({ words: {} });
}

/** Also delete the stored drafts. */
onForget(() => {
  forgetDrafts();
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
  } catch {
    // Storage is disabled.
  }
});
