// Commands that are refused or not answered, through the page's own connection; the test plays the server.

import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { ClientMessage } from "../../src/protocol/messages";
import { answeredHere } from "../../src/state/answered-here";
import { command, sendUndelivered, socket, useBridge } from "../../src/state/bridge";
import { draftOf, setDraft } from "../../src/state/drafts";
import { forgetAll } from "../../src/state/forget";
import { useNotices } from "../../src/state/notices";
import { NO_HELP, type Question } from "../../src/state/state";
import { undelivered } from "../../src/state/undelivered";
import { sendDraft } from "../../src/views/composer/send";
import { useAnswer } from "../../src/views/prompts/answer";

type Command = Extract<ClientMessage, { type: "command" }>;
const lines: Line[] = [];
const told: string[] = [];

class Line {
  readyState = 1;
  onopen: (() => void) | null = null;
  onmessage: ((message: { data: string }) => void) | null = null;
  onclose: ((closed: { code: number; reason: string }) => void) | null = null;
  readonly commands: Command[] = [];

  send(text: string): void {
    const said = JSON.parse(text) as ClientMessage;
    if (said.type === "command") this.commands.push(said);
  }

  close(): void {}

  says(said: object): void {
    this.onmessage?.({ data: JSON.stringify(said) });
  }

  does(): void {
    this.says({ type: "receipt", id: this.commands.at(-1)!.id, ok: true, result: { uuid: "u" } });
  }

  refuses(code: string, message: string): void {
    this.says({ type: "receipt", id: this.commands.at(-1)!.id, ok: false, error: { code, message } });
  }
}

class Kept extends Line {
  constructor() {
    super();
    lines.push(this);
  }
}

let line: Line;
useNotices.subscribe(({ all }) => void (all.at(-1) && !told.includes(all.at(-1)!.text) && told.push(all.at(-1)!.text)));

/** The page opens a line after the first `before` ones. */
async function opened(before: number): Promise<Line> {
  while (lines.length === before) await vi.advanceTimersByTimeAsync(100);
  lines.at(-1)!.onopen?.();
  return lines.at(-1)!;
}

beforeEach(async () => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", Kept);
  vi.stubGlobal("fetch", (path: string) => Promise.resolve(new Response(JSON.stringify(path === "/api/tickets" ? { ticket: "t" } : { sessions: [], folders: [] }))));
  const before = lines.length;
  socket.reset();
  line = await opened(before);
  line.says({ type: "hello", protocol: 1, version: "1", device: "d", scopes: ["view", "prompt"], commands: [] });
});
afterEach(() => {
  forgetAll();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** No machine answers, until it is given up. */
async function nobodyAnswers(): Promise<void> {
  for (const pause of [1000, 4000, 12_000, 0]) {
    line.refuses("unreachable", "worker-2 does not answer");
    await vi.advanceTimersByTimeAsync(pause);
  }
}

test("an unanswered message returns to the composer, and is sent again with the same id", async () => {
  setDraft("s", "do it");
  const first = sendDraft("s");
  expect(draftOf("s")).toBe("");
  await nobodyAnswers();
  await first;
  expect(draftOf("s")).toBe("do it");
  expect(told).toEqual([
    "The machine of this session does not respond. Retrying; the command runs only once.",
    "Your message may not have arrived: the machine does not respond. Send it again unchanged; it is delivered only once.",
  ]);
  const again = sendDraft("s");
  expect(new Set(line.commands.map((one) => one.id)).size).toBe(1);
  line.does();
  await again;
  setDraft("s", "do it");
  const anew = sendDraft("s");
  expect(new Set(line.commands.map((one) => one.id)).size).toBe(2);
  line.does();
  await anew;
});

test("while the cluster is offline a command is refused once with the server's message, and the machines are read", async () => {
  const done = command("interrupt", { session: "s" });
  line.refuses("cluster_away", "NATS does not answer");
  expect(await done).toBeNull();
  await vi.advanceTimersByTimeAsync(30_000);
  expect(line.commands).toHaveLength(1);
  expect(useBridge.getState().unanswered).toBe(1);
});

/** Lose the connection, and get it back. */
async function reconnects(meanwhile: () => void): Promise<void> {
  line.readyState = 3;
  line.onclose?.({ code: 1006, reason: "" });
  meanwhile();
  line = await opened(lines.length);
}

const QUESTION: Question = { id: "q1", kind: "permission", hash: "h", request: {}, suggestions: [], agent: "", help: NO_HELP, time: 0 };

test.each([
  ["not_pending", "no question q1 is open", "Your answer was not delivered: the question is no longer open"],
  ["changed", "the question has changed", "Your answer was not delivered: the question has changed"],
  ["failed", "the store is full", "Your answer was not delivered: the store is full"],
])("an answer given offline and refused after reconnecting is reported until dismissed: %s", async (code, message, words) => {
  const { result } = renderHook(() => useAnswer("s", QUESTION));
  await reconnects(() => act(() => result.current.give({ behavior: "allow" })));
  expect(line.commands).toMatchObject([{ command: "answer", fields: { question: "q1", behavior: "allow" } }]);
  expect(answeredHere.has("q1")).toBe(true);
  await act(async () => line.refuses(code, message));
  await vi.advanceTimersByTimeAsync(600_000);
  expect(useNotices.getState().all.map((one) => one.text)).toEqual([words]);
  expect(answeredHere.has("q1")).toBe(false);
});

test("after a reload an unacknowledged answer and message are sent under their ids, and a refusal is reported", async () => {
  sessionStorage.setItem(
    "handrail.undelivered",
    JSON.stringify([
      { id: "1", name: "answer", fields: { session: "s", question: "q1", hash: "h", behavior: "allow" }, time: Date.now() },
      { id: "2", name: "send", fields: { session: "s", text: "do it" }, time: Date.now() },
    ]),
  );
  undelivered.reload();
  await reconnects(() => sendUndelivered());
  expect(line.commands.map((one) => [one.id, one.command])).toEqual([["1", "answer"], ["2", "send"]]);
  line.refuses("not_found", "session s not found");
  await vi.advanceTimersByTimeAsync(0);
  expect(draftOf("s")).toBe("do it");
  line.says({ type: "receipt", id: "1", ok: false, error: { code: "not_pending", message: "" } });
  await vi.advanceTimersByTimeAsync(0);
  expect(useNotices.getState().all.map((one) => one.text)).toEqual([
    "Your message was not sent: session s not found. It is back in the message field.",
    "Your answer was not delivered: the question is no longer open",
  ]);
  expect(undelivered.all()).toEqual([]);
  expect(sessionStorage.getItem("handrail.undelivered")).toBeNull();
});

test("a device that is logged out keeps nothing undelivered, and broken storage is read as empty", () => {
  undelivered.add("1", "send", { session: "s", text: "secret" });
  undelivered.add("2", "interrupt", { session: "s" });
  undelivered.reload();
  expect(undelivered.all().map((one) => one.id)).toEqual(["1"]);
  forgetAll();
  expect(sessionStorage.getItem("handrail.undelivered")).toBeNull();
  for (const broken of ["{", "7"]) {
    sessionStorage.setItem("handrail.undelivered", broken);
    undelivered.reload();
    expect(undelivered.all()).toEqual([]);
  }
});

/** What the browser's storage holds, as one text. */
const stored = (): string => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]);

test("a message pending when the device is revoked leaves nothing in storage", async () => {
  setDraft("s", "a secret");
  const sent = sendDraft("s");
  expect(stored()).toContain("a secret");
  line.onclose?.({ code: 4401, reason: "this device was revoked" });
  await sent;
  await vi.advanceTimersByTimeAsync(0);
  expect(stored()).not.toContain("a secret");
  expect(draftOf("s")).toBe("");
});

test("storage without room keeps what fits, and nothing of a message that was delivered", async () => {
  const kept = new Map<string, string>();
  const setItem = (key: string, value: string) => {
    if (value.length > 200) throw new DOMException("full", "QuotaExceededError");
    kept.set(key, value);
  };
  vi.stubGlobal("sessionStorage", { getItem: (key: string) => kept.get(key) ?? null, setItem, removeItem: (key: string) => kept.delete(key) });
  const first = command("send", { session: "s", text: "short" });
  const second = command("send", { session: "s", text: "long ".repeat(100) });
  expect(line.commands).toHaveLength(2);
  expect([...kept.values()].join()).toContain("short");
  line.says({ type: "receipt", id: line.commands[0]!.id, ok: true, result: {} });
  await first;
  expect(kept.size).toBe(0);
  line.does();
  expect(await second).toEqual({ uuid: "u" });
});

const HOUR = 3_600_000;
const pending = (hours: number, session = "s") => [
  { id: "1", name: "answer", fields: { session, question: "q1", hash: "h", behavior: "allow" }, time: Date.now() - hours * HOUR },
  { id: "2", name: "send", fields: { session, text: "do it" }, time: Date.now() - hours * HOUR },
];

function stores(commands: unknown): void {
  sessionStorage.setItem("handrail.undelivered", JSON.stringify(commands));
  undelivered.reload();
}

test("commands older than a day are not sent but reported, and the message returns to the field", async () => {
  stores(pending(25));
  await reconnects(() => sendUndelivered());
  expect(line.commands).toEqual([]);
  expect(draftOf("s")).toBe("do it");
  expect(useNotices.getState().all.map((one) => one.text)).toEqual([
    "Your answer was not delivered: it was given more than a day ago",
    "Your message may not have been sent: it was written more than a day ago. It is back in the message field.",
  ]);
  expect(sessionStorage.getItem("handrail.undelivered")).toBeNull();
});

test("after a new login a message is not sent again, as the server knows ids by device; an answer takes effect once anyway", async () => {
  stores(pending(1));
  await reconnects(() => sendUndelivered(true));
  expect(line.commands.map((one) => one.command)).toEqual(["answer"]);
  line.does();
  expect(draftOf("s")).toBe("do it");
  expect(useNotices.getState().all.map((one) => one.text)).toEqual(["Your message may not have been sent: this browser logged in again. It is back in the message field."]);
  await vi.advanceTimersByTimeAsync(0);
  expect(sessionStorage.getItem("handrail.undelivered")).toBeNull();
});

test("stored commands of another shape are ignored", () => {
  const [answer, message] = pending(1);
  stores([null, 7, {}, { ...answer, id: 1 }, { ...answer, name: "delete" }, { ...message, fields: null }, { ...message, time: "now" }, message]);
  expect(undelivered.all()).toEqual([message]);
});

test("a message sent offline and refused after reconnecting returns to the field, and the reason stays", async () => {
  setDraft("s", "do it");
  await reconnects(() => void sendDraft("s"));
  expect(line.commands).toMatchObject([{ command: "send", fields: { text: "do it" } }]);
  line.refuses("not_found", "session s not found");
  await vi.advanceTimersByTimeAsync(600_000);
  expect(draftOf("s")).toBe("do it");
  expect(useNotices.getState().all.map((one) => one.text)).toEqual(["Your message was not sent: session s not found. It is back in the message field."]);
});
