// Types of the CLI's lines, as far as the page reads them. Any field may be missing or have another type; the readers at the end check
// this.

export type Json = Record<string, unknown>;

/** A block of a message. Its type determines the fields. */
export interface Block extends Json {
  type: string;
}

/** One hunk of a patch in the CLI's format. Each line begins with a space, a minus or a plus. */
export interface Hunk {
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  lines: string[];
}

/** Usage of a model, cumulative over a session. */
export interface ModelUsage {
  inputTokens: number;
  outputTokens: number;
  cacheReadInputTokens: number;
  cacheCreationInputTokens: number;
  costUSD: number;
  contextWindow: number;
}

export const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
export const object = (value: unknown): Json => (isObject(value) ? value : {});
export const text = (value: unknown): string => (typeof value === "string" ? value : "");
export const number = (value: unknown): number => (typeof value === "number" && Number.isFinite(value) ? value : 0);
export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
export const objects = (value: unknown): Json[] => list(value).filter(isObject);
export const texts = (value: unknown): string[] => list(value).filter((one): one is string => typeof one === "string");

/** Look up a name from an untrusted source. Inherited names such as `constructor` are not found. */
export const own = <Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined => (Object.hasOwn(table, name) ? table[name] : undefined);

/** The blocks of a message's content; a string is one text block. */
export function blocks(content: unknown): Block[] {
  if (typeof content === "string") return content ? [{ type: "text", text: content }] : [];
  return objects(content).map((block) => ({ ...block, type: text(block["type"]) }));
}

/** The text blocks of a message's content, joined. */
export function plain(content: unknown): string {
  return blocks(content)
    .map((block) => (block.type === "text" ? text(block["text"]) : ""))
    .filter(Boolean)
    .join("\n");
}
