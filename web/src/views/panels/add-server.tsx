// Adds an MCP server to a session. It may run a program on the server's machine, so the form warns of that and needs the admin scope.

import { useState } from "react";

import { object, text } from "../../protocol/wire";
import { askMcp, useKnown } from "../../state/about";
import { command, useMay } from "../../state/bridge";
import { tell } from "../../state/notices";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { wordsOfCommand } from "./words-of-command";

const words = strings.panels.mcp;
type Kind = keyof typeof words.kinds;
type Config = Record<string, unknown>;

/** Servers added on this page, by session: `mcp_set` replaces all of them each time. */
const added = new Map<string, Record<string, Config>>();

function configOf(kind: Kind, target: string): Config | null {
  if (kind !== "stdio") return /^https?:\/\/\S+$/.test(target.trim()) ? { type: kind, url: target.trim() } : null;
  const parts = wordsOfCommand(target);
  return parts && { command: parts[0]!, args: parts.slice(1) };
}

export function AddServer({ session }: { session: string }) {
  const allowed = useMay("admin");
  const [name, setName] = useState("");
  const [kind, setKind] = useState<Kind>("stdio");
  const [target, setTarget] = useState("");
  const [problem, setProblem] = useState("");
  if (!allowed) return <p className="soft">{words.onlyAdmin}</p>;
  const submit = async () => {
    const config = configOf(kind, target);
    if (!/^[\w-]{1,64}$/.test(name)) return setProblem(words.badName);
    if (!config) return setProblem(kind === "stdio" ? words.badCommand : words.badUrl);
    setProblem("");
    const servers = { ...added.get(session), [name]: config };
    const answer = await command("mcp_set", { session, servers });
    if (!answer) return undefined;
    await askMcp(session);
    const error = object(answer["errors"])[name];
    if (error) return setProblem(words.failedToAdd(name, text(error)));
    added.set(session, servers);
    const failed = useKnown.getState().mcp[session]?.find((one) => one.name === name)?.status === "failed";
    tell(failed ? words.addedButFailed(name) : words.added(name), failed ? "error" : "info");
    setName("");
    setTarget("");
    return undefined;
  };
  return (
    <details className="add-server">
      <summary>{words.add}</summary>
      <form onSubmit={(event) => (event.preventDefault(), void submit())}>
        <p className="panel-warning">{words.addWarning}</p>
        <label>
          {words.name}
          <input value={name} onChange={(event) => setName(event.target.value)} autoComplete="off" spellCheck={false} />
        </label>
        <label>
          {words.kind}
          <select value={kind} onChange={(event) => setKind(event.target.value as Kind)}>
            {Object.entries(words.kinds).map(([value, label]) => <option key={value} value={value}>{label}</option>)}
          </select>
        </label>
        <label>
          {kind === "stdio" ? words.command : words.url}
          <input value={target} onChange={(event) => setTarget(event.target.value)} placeholder={kind === "stdio" ? words.commandHint : words.urlHint} autoComplete="off" spellCheck={false} />
        </label>
        {problem && <p className="panel-problem" role="alert">{problem}</p>}
        <p className="soft">{words.replaces}</p>
        <Button type="submit" kind="main" disabled={!name || !target.trim()}>{words.addIt}</Button>
      </form>
    </details>
  );
}
