// The page's view of the server: the connection, the session list and the followed sessions, as stores fed by the one socket.

import { create } from "zustand";

import { get, hasLink, logIn, reasonOf, Refused } from "../protocol/api";
import type { Commands, ServerHello, SessionShown } from "../protocol/messages";
import { Socket, UNANSWERED, type Link } from "../protocol/socket";
import { strings } from "../strings";
import { answeredHere } from "./answered-here";
import { giveBack } from "./drafts";
import { Followed, TAIL } from "./followed";
import { forgetAll, onForget } from "./forget";
import { tell, tellUntilDismissed } from "./notices";
import { undelivered, type Undelivered } from "./undelivered";
import { Unsure } from "./unsure";

/** A CLI session on the server's machine that was not started through the bridge. */
export interface TerminalSession {
  id: string;
  cwd: string;
  title: string;
  changed: number;
}

export interface Cli {
  kind: string;
  /** With its version, or the name of the ACP agent. */
  name: string;
  version: string;
  model: string;
  /** A script answers; no model is connected. */
  demo: boolean;
}

export interface Known {
  link: Link;
  hello: ServerHello | null;
  sessions: Map<string, SessionShown>;
  terminal: TerminalSession[];
  folders: string[];
  /** The CLI in use and a description of its model. Sent only to devices that may start sessions. */
  cli: Cli | null;
  /** The list was loaded at least once. */
  listed: boolean;
  /** Why the link in the address did not work. */
  refused: string;
  /** How many commands failed because a machine or the cluster did not answer. */
  unanswered: number;
}

/** Error codes about machines, not about the command itself. */
const OF_MACHINES = [UNANSWERED, "cluster_away"];

const nothing = () => ({ hello: null, sessions: new Map<string, SessionShown>(), terminal: [], folders: [], cli: null, listed: false, unanswered: 0 });

export const useBridge = create<Known>(() => ({ ...nothing(), link: { state: "connecting", retryAt: 0, reason: "" }, refused: "" }));

const followed = new Map<string, Followed>();
const LISTED = 1000;

export const socket = new Socket({
  link(link) {
    useBridge.setState({ link });
    if (link.state === "refused") setTimeout(forgetAll); // after the pending commands have failed: their texts return to the message field
  },
  hello(hello) {
    useBridge.setState({ hello });
    void listSessions();
  },
  subscribed(said, fresh) {
    put([said.record]);
    followed.get(said.session)?.subscribed(said, fresh);
  },
  events: (session, events) => followed.get(session)?.take(events),
  sessions(items) {
    put(items.flatMap((item) => (item.session ? [item.session] : [])));
    const deleted = items.flatMap((item) => (item.deleted ? [item.deleted] : []));
    if (deleted.length) useBridge.setState(({ sessions }) => ({ sessions: new Map([...sessions].filter(([id]) => !deleted.includes(id))) }));
  },
  listAgain: () => void listSessions(),
  problem(message, session) {
    const one = followed.get(session);
    if (one) one.failed(message);
    else tell(message, "error");
  },
  refused(code, tries) {
    if (!OF_MACHINES.includes(code)) return;
    useBridge.setState(({ unanswered }) => ({ unanswered: unanswered + 1 }));
    if (code === UNANSWERED && tries === 0) tell(strings.shell.asksAgain);
  },
});

export function put(records: SessionShown[]): void {
  if (records.length) useBridge.setState(({ sessions }) => ({ sessions: new Map([...sessions, ...records.map((one) => [one.id, one] as const)]) }));
}

async function listSessions(): Promise<void> {
  await Promise.all([loadSessions(), loadFolders()]);
}

async function loadSessions(): Promise<void> {
  try {
    const told = await get<{ sessions: SessionShown[]; terminal?: TerminalSession[] }>(`/api/sessions?limit=${LISTED}&terminal=true`);
    const { sessions } = useBridge.getState();
    const fresh = told.sessions.map((one) => [one.id, newer(sessions.get(one.id), one)] as const);
    // A session missing from a complete list was deleted. Archived sessions are not listed.
    const kept = [...sessions].filter(([, one]) => one.archived || told.sessions.length === LISTED);
    useBridge.setState({ sessions: new Map([...kept, ...fresh]), terminal: told.terminal ?? [], listed: true });
  } catch {
    // The connection banner reports an unreachable server.
  }
}

async function loadFolders(): Promise<void> {
  if (!may("prompt")) return; // devices that may only view are not sent the folders
  const { folders, cli } = await get<{ folders: string[]; cli?: Cli }>("/api/folders").catch(() => ({ folders: [], cli: undefined }));
  useBridge.setState({ folders, cli: cli ?? null });
}

/** Wait until the server has named its folders. It does so after each connection. */
export async function foldersNamed(): Promise<void> {
  if (useBridge.getState().cli) return;
  await new Promise<void>((resolve) => {
    const stop = useBridge.subscribe(({ cli }) => {
      if (!cli) return;
      stop();
      resolve();
    });
  });
}

const newer = (known: SessionShown | undefined, told: SessionShown): SessionShown => (known && known.changed > told.changed ? known : told);

/** Follow a session while it is shown. */
export function follow(id: string): Followed {
  let one = followed.get(id);
  if (!one) {
    one = new Followed(id);
    one.stands(useBridge.getState().sessions.get(id)?.state);
    followed.set(id, one);
    socket.follow(id, TAIL);
  }
  return one;
}

/** Stop following all other sessions. */
export function followOnly(id: string): void {
  for (const other of followed.keys()) {
    if (other === id) continue;
    followed.delete(other);
    socket.unfollow(other);
  }
}

useBridge.subscribe(({ sessions }, before) => {
  if (sessions !== before.sessions) for (const [id, one] of followed) one.stands(sessions.get(id)?.state);
});

const unsure = new Unsure();

onForget(() => {
  followOnly("");
  unsure.clear();
  useBridge.setState(nothing());
});

/** Execute a command. Rejects with the server's message. A command that may have been executed is repeated under the same id. */
export async function ask<Name extends keyof Commands>(
  name: Name,
  fields: Commands[Name]["fields"],
  id = unsure.id(name, fields),
): Promise<Record<string, unknown>> {
  undelivered.add(id, name, fields);
  try {
    const told = await socket.command(name, fields, id);
    unsure.settle(name, fields);
    return told;
  } catch (error) {
    if (error instanceof Refused && error.code === UNANSWERED) unsure.keep(id, name, fields);
    else unsure.settle(name, fields);
    throw error;
  } finally {
    undelivered.delete(id);
  }
}

/** Milliseconds after which a command is reported instead of sent: browsers restore tabs weeks later, when no one expects it. */
const TOO_LATE = 86_400_000;

/** Send again what was not acknowledged before the page was reloaded. A message that is not sent returns to the message field.
 *  `newLogin`: the server knows command ids by device, so a message of the former device could be executed a second time. */
export function sendUndelivered(newLogin = false): void {
  const { tooOld, loggedIn, doubtful } = strings.composer;
  for (const one of undelivered.all()) {
    const late = Date.now() - one.time > TOO_LATE;
    if (one.name === "answer") {
      if (late) giveUp(one, strings.prompts.notDelivered(strings.prompts.tooOld));
      else void ask(one.name, one.fields, one.id).catch((error: unknown) => reportAnswer(one.fields.question, error));
    } else if (late || newLogin) {
      giveBack(one.fields.session, one.fields.text ?? "");
      giveUp(one, doubtful(late ? tooOld : loggedIn));
    } else {
      void ask(one.name, one.fields, one.id).catch((error: unknown) => {
        giveBack(one.fields.session, one.fields.text ?? "");
        reportMessage(error);
      });
    }
  }
}

function giveUp({ id }: Undelivered, words: string): void {
  undelivered.delete(id);
  tellUntilDismissed(words);
}

/** An answer had no effect. */
export function reportAnswer(question: string, error: unknown): void {
  answeredHere.delete(question);
  const why = error instanceof Refused && error.code === "not_pending" ? strings.prompts.notOpen : reasonOf(error);
  tellUntilDismissed(strings.prompts.notDelivered(why));
}

/** A message was not sent. One sent while offline may be refused long after the user pressed Enter. */
export function reportMessage(error: unknown): void {
  const words = strings.composer;
  tellUntilDismissed(error instanceof Refused && error.code === UNANSWERED ? words.unsure : words.notSent(reasonOf(error)));
}

/** Execute a command. A refusal is shown to the user, and the result is null. */
export async function command<Name extends keyof Commands>(name: Name, fields: Commands[Name]["fields"]): Promise<Record<string, unknown> | null> {
  try {
    return await ask(name, fields);
  } catch (error) {
    tell(reasonOf(error), "error");
    return null;
  }
}

/** Whether this device has a scope. */
export const may = (scope: string): boolean => useBridge.getState().hello?.scopes.includes(scope) ?? false;
export const useMay = (scope: string): boolean => useBridge((known) => known.hello?.scopes.includes(scope) ?? false);

/** Whether the session waits for the user: for an answer, or because its machine is lost. */
export const waits = (session: SessionShown): boolean => session.questions > 0 || session.state === "interrupted";
const waiting = (known: Known): SessionShown[] => [...known.sessions.values()].filter((one) => waits(one) && !one.archived);
export const useWaiting = (): number => useBridge((known) => waiting(known).length);
export const useFirstWaiting = (): string => useBridge((known) => waiting(known)[0]?.id ?? "");

/** Log in with the link in the address, and connect. */
export async function open(): Promise<void> {
  const isLink = hasLink();
  const refused = await logIn();
  useBridge.setState({ refused });
  const seen = () => socket.visible(document.visibilityState === "visible");
  document.addEventListener("visibilitychange", () => {
    seen();
    if (document.visibilityState === "visible") socket.probe(); // after a phone wakes up, its connection is often dead
  });
  addEventListener("online", () => socket.probe());
  addEventListener("offline", () => socket.probe()); // a server on this machine is still reachable
  addEventListener("hashchange", () => void logIn().then(() => socket.connect()));
  seen();
  sendUndelivered(isLink && !refused);
  await socket.connect();
}
