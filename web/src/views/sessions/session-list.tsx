// The session list with the state of each session, and links to the other pages.

import { useMemo, useRef, useState } from "react";
import { VList, type VListHandle } from "virtua";
import { Link, useLocation, useRoute } from "wouter";

import { useBridge, useMay } from "../../state/bridge";
import { useIsCluster } from "../../state/cluster";
import { openDialog } from "../../state/page";
import { listArchived } from "../../state/session-actions";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Icon, type IconName } from "../../ui/icon";
import { useRoving } from "./roving";
import { Heading, SessionLine, TerminalLine } from "./session-line";
import "./session-list.css";
import { lines } from "./session-order";

const words = strings.sessions;
/** A filter is worth its place only where there is something to filter. */
const FEW = 6;

export function SessionList() {
  const sessions = useBridge((known) => known.sessions);
  const terminal = useBridge((known) => known.terminal);
  const mayPrompt = useMay("prompt");
  const isCluster = useIsCluster();
  const [filter, setFilter] = useState("");
  const [archived, setArchived] = useState(false);
  const shown = useMemo(() => lines({ sessions: sessions.values(), terminal, words: filter.trim(), archived }), [sessions, terminal, filter, archived]);
  return (
    <nav className="session-list" aria-label={words.nav}>
      <Link href="/" className="session-list-home" title={words.home}>
        <img src="/icon.svg" alt="" width={20} height={20} />
        {strings.shell.name}
      </Link>
      <div className="session-list-head">
        <Button kind="main" className="grow" disabled={!mayPrompt} title={mayPrompt ? undefined : words.start.mayNot} onClick={() => openDialog("new-session")}>
          <Icon name="plus" />
          {words.newSession}
        </Button>
        <Button aria-label={words.search} title={words.search} onClick={() => openDialog("search")}>
          <Icon name="search" />
        </Button>
      </div>
      {(sessions.size + terminal.length > FEW || filter) && (
        <input type="search" className="session-filter" aria-label={words.filter} placeholder={isCluster ? words.filterHintMachines : words.filterHint} value={filter} onChange={(event) => setFilter(event.target.value)} />
      )}
      <Lines shown={shown} filtered={filter.trim() !== ""} />
      <Foot archived={archived} setArchived={setArchived} />
    </nav>
  );
}

function Lines({ shown, filtered }: { shown: ReturnType<typeof lines>; filtered: boolean }) {
  const listed = useBridge((known) => known.listed);
  const [, params] = useRoute("/session/:id");
  const here = params?.id ?? "";
  const list = useRef<VListHandle>(null);
  const keys = useMemo(() => shown.map((one) => one.key), [shown]);
  const headings = useMemo(() => new Set(shown.flatMap((one) => (one.kind === "heading" ? [one.key] : []))), [shown]);
  const { stop, take, press } = useRoving(keys, (key) => !headings.has(key), list, here);
  const kept = useMemo(() => [keys.indexOf(stop)].filter((at) => at >= 0), [keys, stop]);
  if (shown.length === 0) return <p className="session-none small soft">{listed ? (filtered ? words.nothingFound : words.none) : ""}</p>;
  return (
    <VList ref={list} className="session-lines" role="list" aria-label={words.list} data={shown} keepMounted={kept} onKeyDown={press}>
      {(line) => {
        if (line.kind === "heading") return <Heading key={line.key} group={line.group} count={line.count} />;
        const place = { stop: line.key === stop, take: () => take(line.key) };
        if (line.kind === "terminal") return <TerminalLine key={line.key} session={line.session} {...place} />;
        return <SessionLine key={line.key} session={line.session} here={line.key === here} {...place} />;
      }}
    </VList>
  );
}

function Foot({ archived, setArchived }: { archived: boolean; setArchived(archived: boolean): void }) {
  const toggle = () => {
    if (!archived) void listArchived();
    setArchived(!archived);
  };
  return (
    <div className="session-list-foot">
      <Button kind="quiet" className="small" aria-pressed={archived} onClick={toggle}>
        <Icon name="archive" />
        {archived ? words.hideArchived : words.showArchived}
      </Button>
      <div className="row">
        <PageButton to="/usage" icon="chart" label={words.usage} />
        <PageButton to="/devices" icon="device" label={words.devices} />
        <PageButton to="/settings" icon="gear" label={words.settings} />
      </div>
    </div>
  );
}

function PageButton({ to, icon, label }: { to: string; icon: IconName; label: string }) {
  const [place, go] = useLocation();
  return (
    <Button kind="quiet" aria-current={place === to ? "page" : undefined} onClick={() => go(to)}>
      <Icon name={icon} />
      {label}
    </Button>
  );
}
