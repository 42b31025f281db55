// Converts a recording of the CLI's output to the durable and live events of the bridge, with the expected content.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";

import type { Event } from "../../src/protocol/messages";
import { blocks, isObject, object, text, type Json } from "../../src/protocol/wire";

const ROOT = resolve(import.meta.dirname, "../../../tests/recordings");

/** The files of the repository, or those of the folder that RECORDINGS names. */
export function recordings(): string[] {
  const folders = process.env["RECORDINGS"] ? [process.env["RECORDINGS"]] : [join(ROOT, "golden"), join(ROOT, "golden-page")];
  return folders.filter((folder) => existsSync(folder)).flatMap((folder) => readdirSync(folder).filter((name) => name.endsWith(".ndjson")).toSorted().map((name) => join(folder, name)));
}

export const nameOf = (file: string): string => basename(file, ".ndjson");

interface Line {
  dir: string;
  msg: Json;
}

export function linesOf(file: string): Line[] {
  const rows = readFileSync(file, "utf8").split("\n").filter(Boolean).map((row) => JSON.parse(row) as Line);
  return rows.filter((row) => isObject(row.msg));
}

const LIVE = ["stream_event", "tool_progress"];
const KINDS: Record<string, string> = { AskUserQuestion: "questions", ExitPlanMode: "plan" };

/** What the bridge tells of a recording, with the end of the process. */
export function eventsOf(lines: readonly Line[]): Event[] {
  const events: Event[] = [];
  const asked = new Set<string>();
  let seq = 0;
  const tell = (kind: Event["kind"], data: Json): void => {
    seq += 1;
    events.push({ kind, seq, time: seq * 1000, data });
  };
  const answer = (id: string, given: Json): void => {
    if (asked.delete(id)) tell("answered", { question: id, by: "a test", answer: given });
  };
  tell("started", { resumed: false, version: "" });
  for (const { dir, msg } of lines) {
    const type = text(msg["type"]);
    const request = object(msg["request"]);
    const id = text(msg["request_id"]);
    if (dir === "in") {
      if (type === "user") {
        const uuid = text(msg["uuid"]) || `said-${seq}`;
        tell("said", { uuid, content: object(msg["message"])["content"], by: "a test" });
        tell("handed", { uuid });
      } else if (type === "control_response") answer(text(object(msg["response"])["request_id"]), object(object(msg["response"])["response"]));
    } else if (LIVE.includes(type)) events.push({ kind: "live", data: msg });
    else if (type === "control_request" && ["can_use_tool", "elicitation"].includes(text(request["subtype"]))) {
      asked.add(id);
      tell("asked", { question: id, kind: request["subtype"] === "elicitation" ? "elicitation" : (KINDS[text(request["tool_name"])] ?? "permission"), hash: "h", request });
    } else if (type === "control_cancel_request") {
      if (asked.delete(id)) tell("closed", { question: id, why: "no longer needed" });
    } else if (!type.startsWith("control_")) tell("frame", msg);
  }
  for (const id of asked) tell("closed", { question: id, why: "the process ended" });
  tell("ended", { why: "" });
  return events;
}

export const onRecord = (events: readonly Event[]): Event[] => events.filter((event) => event.seq !== undefined);

/** The words of assistant lines, each with the call that it is inside of, in order. */
export function wordsOf(lines: readonly Line[]): [string, string][] {
  return lines
    .filter(({ dir, msg }) => dir === "out" && msg["type"] === "assistant")
    .flatMap(({ msg }) => blocks(object(msg["message"])["content"]).filter((block) => block.type === "text").map((block): [string, string] => [text(msg["parent_tool_use_id"]), text(block["text"])]));
}

/** Ids of the calls, and of those that have a result. */
export function callsOf(lines: readonly Line[]): { called: string[]; settled: string[] } {
  const all = lines.filter(({ dir }) => dir === "out").flatMap(({ msg }) => blocks(object(msg["message"])["content"]));
  return {
    called: all.filter((block) => block.type === "tool_use").map((block) => text(block["id"])),
    settled: all.filter((block) => block.type === "tool_result").map((block) => text(block["tool_use_id"])),
  };
}

/** The streaming answer, as the bridge keeps it for clients that join late. */
export class SoFar {
  #start: Event | undefined;
  #block: Event[] = [];

  take(event: Event): void {
    if (event.kind === "frame" && event.data?.["type"] === "assistant" && !event.data["parent_tool_use_id"]) this.#block = [];
    if (event.kind === "frame" && event.data?.["type"] === "result") this.#start = undefined;
    const told = object(event.data?.["event"]);
    if (event.kind !== "live" || event.data?.["parent_tool_use_id"]) return;
    if (told["type"] === "message_start") [this.#start, this.#block] = [event, []];
    else if (told["type"] === "message_stop") this.#start = undefined;
    else if (told["type"] === "content_block_start") this.#block = [event];
    else this.#block.push(event);
  }

  get events(): Event[] {
    return this.#start ? [this.#start, ...this.#block] : [];
  }
}

/** The same numbers at each run: what failed once fails again. */
export function chance(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
