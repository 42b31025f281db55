// The MCP servers of a session: status, tools, enable, reconnect, sign in, add.

import { useEffect, useState } from "react";

import { own, text } from "../../protocol/wire";
import { askMcp, useAwake, useMcp, type McpServer } from "../../state/about";
import { command, useMay } from "../../state/bridge";
import type { Followed } from "../../state/followed";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Icon, type IconName } from "../../ui/icon";
import { target } from "../../ui/link";
import { visible } from "../../ui/visible";
import { AddServer } from "./add-server";
import "./mcp-panel.css";

const words = strings.panels.mcp;
const ICONS: Record<string, IconName> = { connected: "check", failed: "cross", disabled: "stop", pending: "clock", "needs-auth": "shield" };

/** Entries drawn per list. */
const MOST = 500;

export function McpPanel({ followed }: { followed: Followed }) {
  const servers = useMcp(followed);
  const awake = useAwake(followed.id);
  useWatchConnecting(followed.id, servers);
  return (
    <>
      <section className="panel-part">
        {!awake && <p className="soft">{words.asleep}</p>}
        {servers.length === 0 && <p className="soft">{words.none}</p>}
        <ul className="servers">
          {servers.slice(0, MOST).map((server) => (
            <ServerView key={server.name} session={followed.id} server={server} awake={awake} />
          ))}
        </ul>
        <div>
          <Button kind="quiet" disabled={!awake} onClick={() => void askMcp(followed.id)}>{words.refresh}</Button>
        </div>
      </section>
      <section className="panel-part">
        <AddServer session={followed.id} />
      </section>
    </>
  );
}

/** Poll while a server is connecting. */
function useWatchConnecting(session: string, servers: readonly McpServer[]): void {
  useEffect(() => {
    if (!servers.some((one) => one.status === "pending")) return undefined;
    const again = setTimeout(() => void askMcp(session), 1000);
    return () => clearTimeout(again);
  }, [session, servers]);
}

function ServerView({ session, server, awake }: { session: string; server: McpServer; awake: boolean }) {
  const allowed = useMay("prompt");
  const [busy, setBusy] = useState(false);
  const act = async (doing: Promise<unknown>) => {
    setBusy(true);
    await doing;
    await askMcp(session);
    setBusy(false);
  };
  const off = server.status === "disabled";
  const closed = busy || !allowed || !awake;
  const why = allowed ? "" : strings.panels.needsScope("prompt");
  return (
    <li className="server">
      <div className="row">
        <strong className="grow">{visible(server.name, true)}</strong>
        <span className={`row server-status ${own(words.statuses, server.status) ? server.status : ""}`}>
          <Icon name={own(ICONS, server.status) ?? "question"} /> {own(words.statuses, server.status) ?? visible(server.status, true)}
        </span>
      </div>
      <p className="soft">{visible([server.transport, server.scope].filter(Boolean).join(" · "), true)}</p>
      {server.error && <p className="panel-problem">{visible(server.error)}</p>}
      {server.tools.length > 0 && <Tools server={server} />}
      {server.signIn && <SignIn session={session} server={server} />}
      <div className="row">
        {!off && <Button disabled={closed} title={why} aria-label={`${words.reconnect}: ${visible(server.name, true)}`} onClick={() => void act(command("mcp_reconnect", { session, server: server.name }))}>{words.reconnect}</Button>}
        <Button disabled={closed} title={why} aria-label={`${off ? words.on : words.off}: ${visible(server.name, true)}`} onClick={() => void act(command("mcp_toggle", { session, server: server.name, enabled: off }))}>{off ? words.on : words.off}</Button>
      </div>
    </li>
  );
}

function Tools({ server }: { server: McpServer }) {
  return (
    <details>
      <summary>{words.tools(server.tools.length)}</summary>
      <ul>
        {server.tools.slice(0, MOST).map((tool) => (
          <li key={tool.name}>
            <code>{visible(tool.name, true)}</code> {tool.description && <span className="soft">{visible(tool.description)}</span>}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** The user opens the sign-in page, never the page itself. If the browser cannot reach the callback address, the user pastes it here. */
function SignIn({ session, server }: { session: string; server: McpServer }) {
  const allowed = useMay("admin");
  const [begun, setBegun] = useState("");
  const [ended, setEnded] = useState("");
  const address = begun || server.authUrl;
  const begin = async () => {
    const told = await command("mcp_sign_in", { session, server: server.name });
    if (told) setBegun(text(told["auth_url"]));
    await askMcp(session);
  };
  const finish = async () => {
    if (await command("mcp_sign_in_finish", { session, server: server.name, url: ended.trim() })) await askMcp(session);
  };
  const leads = target(address);
  if (!leads || !/^https?:$/.test(leads.protocol)) {
    return (
      <div>
        <Button kind="main" disabled={!allowed} title={allowed ? "" : strings.panels.needsScope("admin")} onClick={() => void begin()}>{words.signIn}</Button>
      </div>
    );
  }
  return (
    <form className="sign-in" onSubmit={(event) => (event.preventDefault(), void finish())}>
      <a href={leads.href} target="_blank" rel="noopener noreferrer">{words.openSignIn}</a>
      <p className="soft">{leads.host}</p>
      <p className="soft">{words.signInHelp}</p>
      <div className="row">
        <input className="grow" aria-label={words.signInAddress} placeholder={words.signInAddress} value={ended} onChange={(event) => setEnded(event.target.value)} />
        <Button type="submit" disabled={!/^https?:\/\/\S+$/.test(ended.trim())}>{words.finish}</Button>
      </div>
    </form>
  );
}
