// Events as the bridge tells them, for tests. Each Telling counts by itself.

import type { Event } from "../../src/protocol/messages";
import type { Block, Json } from "../../src/protocol/wire";
import { replay } from "../../src/state/reduce";
import type { Call, Row, State } from "../../src/state/state";

export class Telling {
  readonly events: Event[] = [];
  #seq: number;

  constructor(after = 0) {
    this.#seq = after;
  }

  tell(kind: Event["kind"], data: Json): this {
    this.#seq += 1;
    this.events.push({ kind, seq: this.#seq, time: this.#seq * 1000, data });
    return this;
  }

  frame(data: Json): this {
    return this.tell("frame", data);
  }

  init(more: Json = {}): this {
    return this.frame({ type: "system", subtype: "init", model: "m", permissionMode: "default", ...more });
  }

  system(subtype: string, more: Json = {}): this {
    return this.frame({ type: "system", subtype, ...more });
  }

  /** A whole block of an answer. */
  assistant(block: Block | string, more: Json = {}): this {
    const content = [typeof block === "string" ? { type: "text", text: block } : block];
    return this.frame({ type: "assistant", uuid: `a${this.#seq}`, message: { id: "m1", content }, parent_tool_use_id: null, ...more });
  }

  use(id: string, name = "Bash", input: Json = {}, parent: string | null = null): this {
    return this.assistant({ type: "tool_use", id, name, input }, { parent_tool_use_id: parent });
  }

  returned(id: string, content: unknown = "ok", more: Json = {}): this {
    const { is_error, ...line } = more;
    return this.frame({ type: "user", message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content, ...(is_error ? { is_error } : {}) }] }, parent_tool_use_id: null, ...line });
  }

  user(text: string, more: Json = {}): this {
    return this.frame({ type: "user", uuid: `u${this.#seq}`, message: { role: "user", content: text }, parent_tool_use_id: null, ...more });
  }

  result(more: Json = {}): this {
    return this.frame({ type: "result", subtype: "success", is_error: false, total_cost_usd: 0, duration_ms: 10, ...more });
  }

  lifecycle(uuid: string, state: string): this {
    return this.frame({ type: "command_lifecycle", command_uuid: uuid, state });
  }

  say(uuid: string, text = uuid): this {
    return this.tell("said", { uuid, content: text, by: "desk" });
  }

  hand(uuid: string): this {
    return this.tell("handed", { uuid });
  }

  ask(question: string, tool: string, kind = "permission", name = "Bash"): this {
    return this.tell("asked", { question, kind, hash: "h", request: { subtype: "can_use_tool", tool_name: name, tool_use_id: tool, input: {} } });
  }

  answer(question: string, answer: Json): this {
    return this.tell("answered", { question, by: "desk", answer });
  }

  stream(event: Json, more: Json = {}): this {
    this.events.push({ kind: "live", data: { type: "stream_event", event, parent_tool_use_id: null, api_message_id: "m1", ...more } });
    return this;
  }

  start(id = "m1"): this {
    return this.stream({ type: "message_start", message: { id } });
  }

  block(index: number, block: Json): this {
    return this.stream({ type: "content_block_start", index, content_block: block });
  }

  delta(index: number, delta: Json): this {
    return this.stream({ type: "content_block_delta", index, delta });
  }

  get state(): State {
    return replay(this.events);
  }
}

/** Rows in a few words. */
export const kinds = (rows: readonly Row[]): string[] => rows.map((row) => (row.kind === "notice" ? row.about : row.kind === "said" ? `said ${row.uuid}` : row.kind === "call" ? `call ${row.id} ${row.status}` : row.kind === "text" ? row.text : row.kind));

export const call = (state: State, id: string): Call => {
  const find = (rows: readonly Row[]): Call | undefined => {
    for (const row of rows) {
      if (row.kind !== "call") continue;
      const found = row.id === id ? row : find(row.rows);
      if (found) return found;
    }
    return undefined;
  };
  return find(state.rows)!;
};
