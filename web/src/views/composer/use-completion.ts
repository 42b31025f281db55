// Suggestions at the caret: commands, files and MCP resources. Files are requested after a short pause; late answers are discarded.

import { useEffect, useMemo, useState } from "react";

import { useAbout } from "../../state/about";
import { socket } from "../../state/bridge";
import type { Followed } from "../../state/followed";
import { tokenAt, type Token } from "./completion";
import { best } from "../../ui/fuzzy";
import { OFFERED } from "./own-commands";
import { commandOption, mentionOptions, type Suggested } from "./suggestions";

const PAUSE = 80;

const NONE: Suggested[] = [];

export function useCompletion(followed: Followed, written: string, caret: number): { token: Token | null; options: Suggested[] } {
  const about = useAbout(followed);
  const token = useMemo(() => tokenAt(written, caret), [written, caret]);
  const query = token?.query ?? "";
  const files = useFiles(followed.id, token?.kind === "mention" ? query : null);
  const commands = useMemo<Suggested[]>(() => {
    if (token?.kind !== "slash") return NONE;
    const known = [...about.commands, ...OFFERED.filter((own) => !about.commands.some((one) => one.name === own.name))];
    return best(query, known, (one) => [one.name]).map(commandOption);
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
      answer.then((told) => wanted && setFound(mentionOptions(told)), () => wanted && setFound(NONE));
    }, PAUSE);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [session, query]);
  return query === null ? NONE : found;
}
