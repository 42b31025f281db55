// What the page reads of the CLI's lines. Everything may be missing or of another kind: the readers at the end say what is there.

export type Json = Record<string, unknown>;

/** A block of a message. Which fields it has, its type says. */
export interface Block extends Json {
  type: string;
}

/** One hunk of a patch, as the CLI gives it. Each line begins with a blank, a minus or a plus. */
export interface Hunk {
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  lines: string[];
}

/** What a model has used, cumulative over a session. */
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

/** What a table says of a name that came from elsewhere: of `constructor` and its like nothing. */
export const own = <Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined => (Object.hasOwn(table, name) ? table[name] : undefined);

/** The blocks of a message's content; a text alone is one block. */
export function blocks(content: unknown): Block[] {
  if (typeof content === "string") return content ? [{ type: "text", text: content }] : [];
  return objects(content).map((block) => ({ ...block, type: text(block["type"]) }));
}

/** All text of a content, whatever else is in it. */
export function plain(content: unknown): string {
  return blocks(content)
    .map((block) => (block.type === "text" ? text(block["text"]) : ""))
    .filter(Boolean)
    .join("\n");
}
