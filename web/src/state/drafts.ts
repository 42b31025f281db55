// What is written and not sent yet, by session. In: what is typed. Out: a store for the composer; kept by the browser per tab, so that a
// reload finds it and another tab does not overwrite it. A tab that has none takes over what another has left.

import { create } from "zustand";

import { onForget } from "./forget";
import { keep, kept } from "./page";

interface Left {
  text: string;
  time: number;
}

const PREFIX = "handrail.draft.";
/** A draft that nobody looked at for so long is forgotten. */
const FORGOTTEN = 30 * 86_400_000;

const useDrafts = create<{ words: Record<string, string> }>(() => ({ words: {} }));

/** Which draft of another tab was taken over: it goes as soon as this tab changes it. */
const taken = new Map<string, string>();

/** This tab, by a name that a reload does not change. */
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

/** All that other tabs have for a session, newest first. What is old goes. */
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
    // Nothing is kept here.
  }
  return found.toSorted((a, b) => b.left.time - a.left.time);
}

/** What this tab or another left, by session: read once, so that it can be asked for while something is drawn. */
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

/** What is written in a session, found again where this tab or another left it. */
export const draftOf = (session: string): string => useDrafts.getState().words[session] ?? leftOf(session);
export const useDraft = (session: string): string => useDrafts((drafts) => drafts.words[session]) ?? leftOf(session);

/** It is written anew, by whoever: the user, or a message that came back. */
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

/** The page goes: what stands here is kept once more, for another tab may have taken it over meanwhile and thrown it away. */
export function keepAll(): void {
  const all = { ...Object.fromEntries(found), ...useDrafts.getState().words };
  for (const [session, text] of Object.entries(all)) if (text && !taken.has(session)) write(session, text);
}

addEventListener("pagehide", keepAll);

/** What came back, in front of what was written meanwhile. */
export function giveBack(session: string, text: string): void {
  const now = draftOf(session);
  setDraft(session, [text, now].filter(Boolean).join("\n"));
}

/** As if the page were opened anew; for tests. */
export function forgetDrafts(): void {
  taken.clear();
  found.clear();
  useDrafts.setState({ words: {} });
}

/** Also what the browser keeps. */
onForget(() => {
  forgetDrafts();
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
  } catch {
    // Nothing is kept here.
  }
});
