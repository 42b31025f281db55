// Forms of MCP servers: the fields from a schema, and the content or the errors from the values. Pure.

import { isObject, list, number, object, objects, text, texts, type Json } from "../../protocol/wire";
import { strings } from "../../strings";

export interface Field {
  name: string;
  label: string;
  help: string;
  kind: "text" | "number" | "boolean" | "choice" | "choices";
  /** The format the browser can check: email, url, date. */
  format: string;
  whole: boolean;
  least: number | undefined;
  most: number | undefined;
  choices: { value: string; label: string }[];
  required: boolean;
  first: string | boolean | string[];
}

export type Filled = Record<string, string | boolean | string[]>;

/** The choices, in each notation the protocol allows. */
function choicesOf(schema: Json): Field["choices"] {
  const titled = objects(schema["oneOf"] ?? schema["anyOf"]).map((one) => ({ value: text(one["const"]), label: text(one["title"]) || text(one["const"]) }));
  if (titled.length) return titled;
  const names = texts(schema["enumNames"]);
  return texts(schema["enum"]).map((value, at) => ({ value, label: names[at] ?? value }));
}

function fieldOf(name: string, schema: Json, required: boolean): Field {
  const type = text(schema["type"]);
  const several = type === "array";
  const choices = choicesOf(several ? object(schema["items"]) : schema);
  const kind = type === "boolean" ? "boolean" : type === "number" || type === "integer" ? "number" : several ? "choices" : choices.length ? "choice" : "text";
  const given = schema["default"];
  const first = kind === "boolean" ? given === true : kind === "choices" ? texts(given) : typeof given === "number" ? String(given) : text(given);
  const bound = (key: string) => (typeof schema[key] === "number" ? number(schema[key]) : undefined);
  return { name, label: text(schema["title"]) || name, help: text(schema["description"]), kind, format: text(schema["format"]), whole: type === "integer", least: bound("minimum"), most: bound("maximum"), choices, required, first };
}

/** `order`: the original order of the fields, if known; JSON objects may be reordered in transit. */
export function fieldsOf(schema: unknown, order: readonly string[] = []): Field[] {
  const needed = texts(object(schema)["required"]);
  const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return Object.entries(object(object(schema)["properties"]))
    .filter((pair): pair is [string, Json] => isObject(pair[1]))
    .toSorted(([a], [b]) => place(a) - place(b))
    .map(([name, one]) => fieldOf(name, one, needed.includes(name)));
}

export const valueOf = (field: Field, filled: Filled): string | boolean | string[] => filled[field.name] ?? field.first;

/** The content to send, or the errors by field. */
export function contentOf(fields: readonly Field[], filled: Filled): { content: Json; problems: Record<string, string> } {
  const content: Json = {};
  const problems: Record<string, string> = {};
  for (const field of fields) {
    const value = valueOf(field, filled);
    const empty = value === "" || (Array.isArray(value) && list(value).length === 0);
    if (empty) {
      if (field.required) problems[field.name] = strings.prompts.must(field.label);
      continue;
    }
    if (field.kind !== "number") content[field.name] = value;
    else {
      const problem = numberProblem(field, Number(value));
      if (problem) problems[field.name] = problem;
      else content[field.name] = Number(value);
    }
  }
  return { content, problems };
}

function numberProblem(field: Field, value: number): string {
  if (!Number.isFinite(value) || (field.whole && !Number.isInteger(value))) return strings.prompts.mustBeNumber(field.label);
  return value < (field.least ?? value) || value > (field.most ?? value) ? strings.prompts.outOfRange(field.label) : "";
}
