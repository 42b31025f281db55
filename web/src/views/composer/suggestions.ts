// Options of the suggestion list: commands, files, MCP resources and prompts. Pure.

import { objects, text } from "../../protocol/wire";
import type { CommandTold } from "../../state/about";
import { strings } from "../../strings";
import type { Option } from "../../ui/listbox";
import { mentionOf } from "./completion";

const words = strings.composer;
const MOST = 50;
/** Of these, resources at most; a query can match many files. */
const MOST_RESOURCES = 20;

export interface Suggested extends Option {
  /** Replaces the typed token. */
  value: string;
}

/** The CLI names the prompts of an MCP server `mcp__server__prompt`. */
const PROMPT = /^mcp__(.+?)__(.+)$/;

export function commandOption({ name, description, argumentHint }: CommandTold): Suggested {
  const prompt = PROMPT.exec(name);
  const origin = prompt ? `${words.prompt} · ${prompt[1]}` : "";
  return { id: name, name: `/${name}`, detail: [description, origin].filter(Boolean).join(" · "), end: argumentHint, value: `/${name}`, code: true };
}

const distinct = (options: Suggested[]): Suggested[] => options.filter((one, at) => options.findIndex((other) => other.id === one.id) === at);

/** The answer to `file_suggestions`. */
export function mentionOptions(told: Record<string, unknown>): Suggested[] {
  const files = objects(told["files"]).map((one) => {
    const path = text(one["path"]);
    const isFolder = text(one["kind"]).startsWith("dir") || path.endsWith("/");
    return { id: `f${path}`, name: path, detail: isFolder ? words.folder : "", value: mentionOf(isFolder && !path.endsWith("/") ? `${path}/` : path), code: true };
  });
  const resources = objects(told["resources"]).flatMap((one) => {
    const [server, uri] = [text(one["server"]), text(one["uri"])];
    if (!server || !uri) return [];
    const address = `${server}:${uri}`;
    return [{ id: `r${address}`, name: text(one["name"]) || address, detail: [`${words.resource} · ${server}`, text(one["description"])].filter(Boolean).join(" · "), value: mentionOf(address) }];
  });
  const offered = distinct(resources).slice(0, MOST_RESOURCES);
  return [...distinct(files).slice(0, MOST - offered.length), ...offered];
}
