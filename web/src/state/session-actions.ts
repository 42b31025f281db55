// Actions on a whole session: start, resume, fork, rename, archive, stop, retry, delete. Each reports its result to the user.

import { get } from "../protocol/api";
import { addressOf } from "../protocol/base-path";
import type { Commands, SessionShown, Start } from "../protocol/messages";
import { object, text } from "../protocol/wire";
import { strings } from "../strings";
import { visible } from "../ui/visible";
import { command, put } from "./bridge";
import { tell } from "./notices";
import { askTrust, trustOf } from "./trust";

const words = strings.sessions;
/** The title of a session, with deceptive characters spelled out. */
export const titleOf = (session: { title: string } | undefined): string => visible(session?.title ?? "", true) || words.untitled;

/** Handle the answer to start, resume and fork. Returns the id of the session, or "" if it was refused. */
function opened(told: Record<string, unknown> | null, again = false): string {
  const session = object(told?.["session"]) as unknown as SessionShown;
  if (!text(session.id)) return "";
  put([session]);
  askTrust(trustOf(session.id, told?.["trust"]), again);
  return session.id;
}

/** `runner` and `labels` choose the machine in a cluster. */
export const startSession = async (fields: Start & { runner?: string; labels?: string[] }): Promise<string> => opened(await command("start", fields));
/** `again`: ask about trust even if the user declined before. */
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

/** `transcript`: also delete the CLI's own transcript. Returns whether the session was deleted. */
export async function deleteSession(session: SessionShown, transcript: boolean): Promise<boolean> {
  const fields: Commands["delete"]["fields"] & { transcript?: boolean } = { session: session.id, ...(transcript && { transcript }) };
  const done = await command("delete", fields);
  if (done) tell(words.remove.gone(titleOf(session)));
  return done !== null;
}

/** Send the message of the interrupted turn again. */
export const retryTurn = (session: string): Promise<unknown> => command("retry" as "stop", { session });

const MOST = 1000;

/** Archived sessions are listed only on request. */
export async function listArchived(): Promise<void> {
  const told = await get<{ sessions: SessionShown[] }>(`/api/sessions?archived=true&limit=${MOST}`).catch(() => ({ sessions: [] }));
  put(told.sessions);
}

export const exportLink = (session: string, format: "markdown" | "json"): string =>
  addressOf(`/api/sessions/${encodeURIComponent(session)}/export?format=${format}`);
