// Lines for the inspector, from the raw frames of a process or from persisted events, and how they are filtered. Pure.

import type { Event } from "../../protocol/messages";
import { number, object, objects, text, type Json } from "../../protocol/wire";

export type Direction = "to_cli" | "from_cli" | "bridge";

export interface Line {
  n: number;
  time: number;
  direction: Direction;
  type: string;
  frame: unknown;
  /** The id of the request that this line is or answers. */
  request: string;
  asks: boolean;
  /** The full text, for searching and copying. */
  whole: string;
}

export interface Filter {
  text: string;
  direction: string;
  stream: boolean;
}

/** Lines from the server's frames. */
export function linesOfWire(told: Json): Line[] {
  return objects(told["frames"]).map((one) => lineOf(number(one["n"]), number(one["time"]), one["direction"] === "to_cli" ? "to_cli" : "from_cli", one["frame"] ?? { bytes: one["bytes"] }));
}

const TO_CLI = new Set(["said", "handed", "answered", "withdrawn"]);

/** Lines from persisted events. */
export function linesOfEvents(events: readonly Event[]): Line[] {
  return events.map((event) => {
    const frame = event.data ?? { bytes: event.bytes };
    if (event.kind === "frame" || event.kind === "live") return lineOf(event.seq ?? 0, event.time ?? 0, "from_cli", frame);
    const line = lineOf(event.seq ?? 0, event.time ?? 0, TO_CLI.has(event.kind) ? "to_cli" : "bridge", frame);
    const question = text(object(frame)["question"]);
    return { ...line, type: event.kind, request: question, asks: event.kind === "asked" };
  });
}

function lineOf(n: number, time: number, direction: Direction, frame: unknown): Line {
  const fields = object(frame);
  const kind = text(fields["type"]);
  const inner = object(fields[kind === "control_response" ? "response" : kind === "stream_event" ? "event" : "request"]);
  const detail = text(fields["subtype"]) || text(inner["subtype"]) || (kind === "stream_event" ? text(inner["type"]) : "");
  const request = kind.startsWith("control_") ? text(fields["request_id"]) || text(inner["request_id"]) : "";
  return { n, time, direction, type: [kind || typeof frame, detail].filter(Boolean).join(" · "), frame, request, asks: kind === "control_request", whole: JSON.stringify(frame) ?? "" };
}

export function fits(line: Line, filter: Filter): boolean {
  if (!filter.stream && line.type.startsWith("stream_event")) return false;
  if (filter.direction && line.direction !== filter.direction) return false;
  const wanted = filter.text.trim().toLowerCase();
  return !wanted || line.type.toLowerCase().includes(wanted) || line.whole.toLowerCase().includes(wanted);
}

/** The number of the matching request or answer, or 0. */
export function pairOf(lines: readonly Line[], line: Line): number {
  if (!line.request) return 0;
  const same = lines.filter((one) => one.request === line.request && one.asks !== line.asks);
  return (line.asks ? same.find((one) => one.n > line.n) : same.findLast((one) => one.n < line.n))?.n ?? 0;
}

const MOST = 5000;

/** Both lists without duplicates; the oldest lines above the limit are dropped. */
export function joined(known: readonly Line[], more: readonly Line[]): Line[] {
  const last = known.at(-1)?.n ?? 0;
  return [...known, ...more.filter((one) => one.n > last)].slice(-MOST);
}
