// One line of the session list: a session with its title, folder, time and state; a terminal session; or a heading.

import { useState } from "react";
import { Link, useLocation } from "wouter";

import type { SessionShown } from "../../protocol/messages";
import type { TerminalSession } from "../../state/bridge";
import { resumeSession, titleOf } from "../../state/session-actions";
import { strings } from "../../strings";
import { Icon } from "../../ui/icon";
import { baseName } from "../../ui/paths";
import type { Group } from "./session-order";
import { STOP } from "./roving";
import { AgentChip } from "./agent-mark";
import { MachineChip } from "./machine-chip";
import { SessionMenu } from "./session-menu";
import { StateMark } from "./state-mark";
import { TimeAgo } from "../../ui/time-ago";
import { TitleField } from "./title-field";

const words = strings.sessions;

interface Place {
  /** Whether this line is the Tab stop. */
  stop: boolean;
  take(): void;
}

export function Heading({ group, count }: { group: Group; count: number }) {
  return (
    <div role="listitem" className="session-heading small soft">
      <h2>{words.groups[group]}</h2>
      <span>{count}</span>
    </div>
  );
}

export function SessionLine({ session, here, stop, take }: { session: SessionShown; here: boolean } & Place) {
  const [renaming, setRenaming] = useState(false);
  return (
    <div role="listitem" className="session-line" data-here={here || undefined}>
      {renaming ? (
        <TitleField session={session} done={() => setRenaming(false)} />
      ) : (
        <Link href={`/session/${session.id}`} className="session-link" aria-current={here ? "page" : undefined} tabIndex={stop ? 0 : -1} onFocus={take} {...{ [STOP]: session.id }} onContextMenu={openMenu}>
          <span className="session-title one-line">{titleOf(session)}</span>
          <span className="session-facts small soft">
            <StateMark session={session} />
            {session.questions > 0 && <Questions count={session.questions} />}
            <span className="one-line grow" title={session.cwd}>
              {baseName(session.cwd)}
            </span>
            <AgentChip session={session} />
            <MachineChip session={session} />
            <TimeAgo time={session.changed} />
          </span>
        </Link>
      )}
      <SessionMenu session={session} rename={() => setRenaming(true)} tabIndex={-1} />
    </div>
  );
}

/** A number on screen, a sentence for screen readers. */
function Questions({ count }: { count: number }) {
  return (
    <span className="session-questions" title={words.questions(count)}>
      {count}
      <span className="unseen">{words.questionsOf(count)}</span>
    </span>
  );
}

/** The context menu key and the right mouse button open the session's menu. */
function openMenu(event: React.MouseEvent): void {
  const button = event.currentTarget.parentElement?.querySelector<HTMLElement>('[aria-haspopup="menu"]');
  if (!button) return;
  event.preventDefault();
  button.click();
}

export function TerminalLine({ session, stop, take }: { session: TerminalSession } & Place) {
  const [busy, setBusy] = useState(false);
  const [, go] = useLocation();
  const resume = async () => {
    if (busy) return;
    setBusy(true);
    const id = await resumeSession(session.id);
    setBusy(false);
    if (id) go(`/session/${id}`);
  };
  return (
    <div role="listitem" className="session-line">
      <button type="button" className="session-link" title={words.resumeTerminal} tabIndex={stop ? 0 : -1} onFocus={take} {...{ [STOP]: session.id }} onClick={() => void resume()}>
        <span className="session-title one-line">{titleOf(session)}</span>
        <span className="session-facts small soft">
          <span className="state-mark">
            <Icon name="terminal" size={14} />
            {busy ? words.resuming : words.states.terminal}
          </span>
          <span className="one-line grow" title={session.cwd}>
            {baseName(session.cwd)}
          </span>
          <TimeAgo time={session.changed} />
        </span>
      </button>
    </div>
  );
}
