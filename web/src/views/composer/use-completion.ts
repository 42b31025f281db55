// Suggestions while one writes. In: the text and the caret. Out: options for what stands there, commands or files. Files are asked for after
// a short pause, and an answer that comes too late is not shown.

import { useEffect, useMemo, useState } from "react";

import { objects, text } from "../../protocol/wire";
import { useAbout } from "../../state/about";
import { socket } from "../../state/bridge";
import type { Followed } from "../../state/followed";
import { strings } from "../../strings";
import type { Option } from "../../ui/listbox";
import { mentionOf, tokenAt, type Token } from "./completion";
import { best } from "../../ui/fuzzy";
import { OFFERED } from "./own-commands";

const PAUSE = 80;
const words = strings.composer;

interface Suggested extends Option {
  /** What is put in place of what was typed. */
  value: string;
}

const NONE: Suggested[] = [];

export function useCompletion(followed: Followed, written: string, caret: number): { token: Token | null; options: Suggested[] } {
  const about = useAbout(followed);
  const token = useMemo(() => tokenAt(written, caret), [written, caret]);
  const query = token?.query ?? "";
  const files = useFiles(followed.id, token?.kind === "mention" ? query : null);
  const commands = useMemo<Suggested[]>(() => {
    if (token?.kind !== "slash") return NONE;
    const known = [...about.commands, ...OFFERED.filter((own) => !about.commands.some((one) => one.name === own.name))];
    return best(query, known, (one) => [one.name]).map((one) => ({
      id: one.name,
      name: `/${one.name}`,
      detail: one.description,
      end: one.argumentHint,
      value: `/${one.name}`,
      code: true,
    }));
  }, [token?.kind, query, about.commands]);
  return { token, options: token?.kind === "slash" ? commands : files };
}

function useFiles(session: string, query: string | null): Suggested[] {
  const [found, setFound] = useState(NONE);
  useEffect(() => {
    if (query === null) return undefined;
    let wanted = true;
    const timer = setTimeout(() => {
      const answer = socket.command("file_suggestions", { session, query: query.slice(0, 200) });
      answer.then((told) => wanted && setFound(read(told)), () => wanted && setFound(NONE));
    }, PAUSE);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [session, query]);
  return query === null ? NONE : found;
}

function read(told: Record<string, unknown>): Suggested[] {
  const files = objects(told["files"]).map((one) => {
    const path = text(one["path"]);
    const isFolder = text(one["kind"]).startsWith("dir") || path.endsWith("/");
    return { id: `f${path}`, name: path, detail: isFolder ? words.folder : "", value: mentionOf(isFolder && !path.endsWith("/") ? `${path}/` : path), code: true };
  });
  const resources = objects(told["resources"]).map((one) => {
    const address = `${text(one["server"])}:${text(one["uri"])}`;
    return { id: `r${address}`, name: text(one["name"]) || address, detail: `${words.resource} · ${text(one["server"])}`, value: mentionOf(address) };
  });
  return [...files, ...resources].filter((one, at, all) => all.findIndex((other) => other.id === one.id) === at).slice(0, 50);
}
