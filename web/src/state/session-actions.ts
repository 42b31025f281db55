// What is done with sessions as a whole: begun, fetched, branched, put away, ended. In: a session. Out: how it went, told in words.

import { get } from "../protocol/api";
import type { SessionShown, Start } from "../protocol/messages";
import { object, text } from "../protocol/wire";
import { strings } from "../strings";
import { visible } from "../ui/visible";
import { command, put } from "./bridge";
import { tell } from "./notices";
import { askTrust, trustOf } from "./trust";

const words = strings.sessions;
/** What a session is called; what would deceive the eye is spelled out. */
export const titleOf = (session: { title: string } | undefined): string => visible(session?.title ?? "", true) || words.untitled;

/** What start, resume and fork answer. Out: the id of the session; "" where it was refused. */
function opened(told: Record<string, unknown> | null, again = false): string {
  const session = object(told?.["session"]) as unknown as SessionShown;
  if (!text(session.id)) return "";
  put([session]);
  askTrust(trustOf(session.id, told?.["trust"]), again);
  return session.id;
}

/** `runner` and `labels`: on which machine, where there are several. */
export const startSession = async (fields: Start & { runner?: string; labels?: string[] }): Promise<string> => opened(await command("start", fields));
/** `again`: also what the user left out before is shown to him. */
export const resumeSession = async (session: string, again = false): Promise<string> => opened(await command("resume", { session }), again);

export async function forkSession(session: string, at?: string): Promise<string> {
  const made = opened(await command("fork", at ? { session, at } : { session }));
  if (made) tell(words.forked);
  return made;
}

export async function renameSession({ id, title }: SessionShown, to: string): Promise<void> {
  const wanted = to.replace(/\s+/g, " ").trim();
  if (wanted && wanted !== title) await command("rename", { session: id, title: wanted });
}

export async function archiveSession(session: SessionShown, archived: boolean): Promise<void> {
  if (await command("archive", { session: session.id, archived })) tell(archived ? words.archived(titleOf(session)) : words.back(titleOf(session)));
}

export async function stopSession(session: SessionShown): Promise<void> {
  if (await command("stop", { session: session.id })) tell(words.stopped);
}

/** Out: whether it is gone. */
export async function deleteSession(session: SessionShown): Promise<boolean> {
  const done = await command("delete", { session: session.id });
  if (done) tell(words.remove.gone(titleOf(session)));
  return done !== null;
}

const MOST = 1000;

/** Those that are put away are told only to who asks. */
export async function listArchived(): Promise<void> {
  const told = await get<{ sessions: SessionShown[] }>(`/api/sessions?archived=true&limit=${MOST}`).catch(() => ({ sessions: [] }));
  put(told.sessions);
}

export const exportLink = (session: string, format: "markdown" | "json"): string => `/api/sessions/${encodeURIComponent(session)}/export?format=${format}`;
