// The header of a session: title, folder, state, warnings, and buttons for the panels.

import { useState } from "react";
import { Link } from "wouter";

import type { SessionShown } from "../../protocol/messages";
import { useAbout } from "../../state/about";
import { agentOf } from "../../state/agents";
import { useBridge, useMay } from "../../state/bridge";
import { runnerOf } from "../../state/cluster";
import type { Followed } from "../../state/followed";
import { keysOf } from "../../state/keys";
import { isHere, openPanel, PANELS, usePage, type Panel } from "../../state/page";
import { titleOf } from "../../state/session-actions";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Icon, type IconName } from "../../ui/icon";
import { baseName } from "../../ui/paths";
import { useMedia } from "../../ui/use-media";
import { visible } from "../../ui/visible";
import { DrawerButton } from "./drawer-button";
import "./session-head.css";
import { AgentChip } from "./agent-mark";
import { MachineChip } from "./machine-chip";
import { SessionMenu } from "./session-menu";
import { Standings } from "./standings";
import { StateMark } from "./state-mark";
import { TitleField } from "./title-field";

const words = strings.sessions.head;
const { names } = strings.panels;
/** Below this width the panels are not beside the conversation; app.css has the same width. */
const NARROW = "(width < 900px)";
const ICONS: Record<Panel, IconName> = { tasks: "list", changes: "diff", context: "chart", mcp: "plug", help: "question", settings: "gear", inspector: "terminal" };

export function SessionHead({ session, followed }: { session: SessionShown | undefined; followed: Followed }) {
  const [renaming, setRenaming] = useState(false);
  const mayPrompt = useMay("prompt");
  const panel = usePage((page) => page.panel);
  const narrow = useMedia(NARROW);
  const shown = usePanels();
  const panels = shown.map((one) => ({ id: one, label: names[one], icon: ICONS[one], on: panel === one, pick: () => openPanel(one) }));
  return (
    <header className="session-head">
      <div className="session-head-line">
        <DrawerButton />
        {renaming && session ? (
          <TitleField session={session} done={() => setRenaming(false)} />
        ) : (
          <h1 className="session-head-title one-line" onDoubleClick={() => mayPrompt && setRenaming(true)}>
            {titleOf(session)}
          </h1>
        )}
        {session && mayPrompt && !renaming && (
          <Button kind="quiet" className="session-head-rename" aria-label={words.rename} title={words.rename} onClick={() => setRenaming(true)}>
            <Icon name="edit" />
          </Button>
        )}
        <span className="grow" />
        {!narrow && (
          <div className="session-head-panels" role="group" aria-label={words.panels}>
            {shown.map((one) => (
              <Button key={one} kind="quiet" aria-pressed={panel === one} aria-label={names[one]} title={names[one]} keys={keysOf(one)} onClick={() => openPanel(one)}>
                <Icon name={ICONS[one]} />
                <span className="session-head-word">{strings.panels.short[one] ?? names[one]}</span>
              </Button>
            ))}
          </div>
        )}
        {session && <SessionMenu session={session} rename={() => setRenaming(true)} more={narrow ? panels : []} />}
      </div>
      {session && <Facts session={session} followed={followed} />}
      {session && <Standings session={session} />}
    </header>
  );
}

/** The inspector needs the admin scope. */
function usePanels(): Panel[] {
  const mayAdmin = useMay("admin");
  return PANELS.filter((one) => one !== "inspector" || mayAdmin);
}

function Facts({ session, followed }: { session: SessionShown; followed: Followed }) {
  const { branch, cli, version } = useAbout(followed);
  const from = session.forked_from;
  const agent = agentOf(session);
  const runs = visible(cliName(cli, version), true);
  const among = runnerOf(session) !== "";
  const origin = useBridge((known) => known.sessions.get(from));
  return (
    <p className="session-head-facts small soft">
      <StateMark session={session} />
      <span className="fact" title={session.cwd}>
        <Icon name="folder" size={14} />
        <span className="unseen">{words.folder}: </span>
        {baseName(session.cwd)}
      </span>
      <AgentChip session={session} />
      <MachineChip session={session} />
      {branch && (
        <span className="fact">
          <Icon name="fork" size={14} />
          <span className="unseen">{words.branch}: </span>
          {visible(branch, true)}
        </span>
      )}
      {!agent && !(among && !runs) && (
        <span className="fact runs" title={among ? undefined : words.runsHelp}>
          {among ? runs : words.runs(runs, host())}
        </span>
      )}
      {from && origin && <Link href={`/session/${from}`}>{words.forkedFrom(titleOf(origin))}</Link>}
    </p>
  );
}

/** The embedded agent has the version of the page; for other CLIs the version is shown. */
const cliName = (cli: string, version: string): string => (cli === "agent" ? words.agent : [baseName(cli), version].filter(Boolean).join(" "));
const host = (): string => (isHere() ? words.here : location.hostname);
