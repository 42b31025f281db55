// The input of a call while it streams: the fields of incomplete JSON, with the last value as far as it has arrived. Pure.

import { isObject, type Json } from "../protocol/wire";
import type { Call } from "../state/state";

/** The input as far as it is known. */
export const inputOf = (call: Call): Json => (call.status === "typing" && call.typed ? partial(call.typed) : call.input);

export function partial(json: string): Json {
  const value = new Reader(json).value(0);
  return isObject(value) ? value : {};
}

const DEEPEST = 50;
const WORDS: Record<string, unknown> = { true: true, false: false, null: null };

/** A parser that accepts JSON cut off at any place. A value that has not begun is undefined. */
class Reader {
  readonly #json: string;
  #at = 0;

  constructor(json: string) {
    this.#json = json;
  }

  value(depth: number): unknown {
    const first = this.#next();
    if (depth > DEEPEST) return this.#stop();
    if (first === '"') return this.#string();
    if (first === "{") return this.#object(depth);
    if (first === "[") return this.#list(depth);
    const word = /^[^\s,\]}]*/.exec(this.#json.slice(this.#at, this.#at + 64))![0];
    this.#at += word.length;
    if (Object.hasOwn(WORDS, word)) return WORDS[word];
    return word && !Number.isNaN(Number(word)) ? Number(word) : this.#stop();
  }

  /** The next non-blank character; "" at the end. */
  #next(): string {
    while (/\s/.test(this.#json[this.#at] ?? "")) this.#at += 1;
    return this.#json[this.#at] ?? "";
  }

  /** Ignore the rest: it is not valid JSON. */
  #stop(): undefined {
    this.#at = this.#json.length;
    return undefined;
  }

  #object(depth: number): Json {
    const fields: [string, unknown][] = [];
    this.#at += 1;
    while (this.#next() === '"') {
      const name = this.#string();
      if (this.#next() !== ":") break;
      this.#at += 1;
      const value = this.value(depth + 1);
      if (value !== undefined) fields.push([name, value]);
      if (this.#next() !== ",") break;
      this.#at += 1;
    }
    this.#close("}");
    return Object.fromEntries(fields);
  }

  #list(depth: number): unknown[] {
    const values: unknown[] = [];
    this.#at += 1;
    while (this.#next() && this.#next() !== "]") {
      const value = this.value(depth + 1);
      if (value !== undefined) values.push(value);
      if (this.#next() !== ",") break;
      this.#at += 1;
    }
    this.#close("]");
    return values;
  }

  #close(sign: string): void {
    if (this.#next() === sign) this.#at += 1;
    else this.#stop();
  }

  #string(): string {
    const from = this.#at + 1;
    let end = from;
    while (end < this.#json.length && this.#json[end] !== '"') end += this.#json[end] === "\\" ? 2 : 1;
    this.#at = Math.min(end + 1, this.#json.length);
    const whole = this.#json.slice(from, Math.min(end, this.#json.length));
    // Drop an incomplete escape sequence at the end; accept unescaped line breaks and tabs, which JSON forbids.
    for (const text of [whole, whole.replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, "")]) {
      try {
        return JSON.parse(`"${text.replace(/[\n\r\t]/g, (found) => JSON.stringify(found).slice(1, -1))}"`) as string;
      } catch {
        // Try the next candidate.
      }
    }
    return whole;
  }
}
