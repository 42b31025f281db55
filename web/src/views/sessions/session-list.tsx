// The session list with the state of each session, and links to the other pages.

import { useMemo, useRef, useState, type CSSProperties, type KeyboardEvent } from "react";
import { VList, type VListHandle } from "virtua";
import { Link, useLocation, useRoute } from "wouter";

import { addressOf } from "../../protocol/base-path";
import { useBridge, useMay } from "../../state/bridge";
import { useEscape } from "../../state/escape";
import { keysOf } from "../../state/keys";
import { openDialog, toggleSidebar, usePage } from "../../state/page";
import { listArchived } from "../../state/session-actions";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Icon, type IconName } from "../../ui/icon";
import { useRoving } from "./roving";
import { SearchHits } from "./search";
import { Heading, SessionLine, TerminalLine } from "./session-line";
import "./session-list.css";
import { lines } from "./session-order";

const words = strings.sessions;

export function SessionList() {
  const sessions = useBridge((known) => known.sessions);
  const terminal = useBridge((known) => known.terminal);
  const mayPrompt = useMay("prompt");
  const query = usePage((page) => page.search).trim();
  const [archived, setArchived] = useState(false);
  const shown = useMemo(() => lines({ sessions: sessions.values(), terminal, words: query, archived }), [sessions, terminal, query, archived]);
  return (
    <nav className="session-list" aria-label={words.nav}>
      <div className="session-list-top">
        <Link href="/" className="session-list-home" title={words.home}>
          <img src={addressOf("/icon.svg")} alt="" width={20} height={20} />
          {strings.shell.name}
        </Link>
        <Button kind="quiet" className="session-list-hide" aria-label={words.hide} title={words.hide} keys={keysOf("sidebar")} onClick={toggleSidebar}>
          <Icon name="sidebar" />
        </Button>
      </div>
      <div className="session-list-head">
        <Button className="grow" disabled={!mayPrompt} title={mayPrompt ? words.newSession : words.start.mayNot} keys={keysOf("newSession")} onClick={() => openDialog("new-session")}>
          <Icon name="plus" />
          {words.newSession}
        </Button>
      </div>
      <SearchField />
      {query ? (
        <div className="session-found" role="group" aria-label={words.find.results} style={{ "--lines": shown.length } as CSSProperties} onKeyDown={stepThrough}>
          <Lines shown={shown} filtered />
          <SearchHits query={query} />
        </div>
      ) : (
        <Lines shown={shown} filtered={false} />
      )}
      <Foot archived={archived} setArchived={setArchived} />
    </nav>
  );
}

const setSearch = (search: string): void => usePage.setState({ search });

/** Titles and folders are filtered while one types; what was said is searched below them. */
function SearchField() {
  const search = usePage((page) => page.search);
  const box = useRef<HTMLDivElement>(null);
  useEscape("input", search !== "", () => {
    if (!box.current?.parentElement?.contains(document.activeElement)) return false;
    setSearch("");
    box.current.querySelector("input")?.focus();
    return true;
  });
  const down = (event: KeyboardEvent) => {
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    foundLinks(box.current?.parentElement)[0]?.focus();
  };
  return (
    <div className="session-search" role="search" ref={box} onKeyDown={down}>
      <Icon name="search" size={14} />
      <input type="text" role="searchbox" aria-label={words.find.field} title={`${words.find.field} (${keysOf("search")})`} placeholder={words.find.hint} value={search} maxLength={200} autoComplete="off" spellCheck={false} onChange={(event) => setSearch(event.target.value)} />
      {search && (
        <Button kind="quiet" aria-label={words.find.clear} title={words.find.clear} keys="Esc" onClick={() => setSearch("")}>
          <Icon name="close" size={14} />
        </Button>
      )}
    </div>
  );
}

const foundLinks = (list: Element | null | undefined): HTMLElement[] => [...(list?.querySelectorAll<HTMLElement>(".session-link, .search-hit") ?? [])];

/** Arrows go through everything that was found, titles and messages alike. */
function stepThrough(event: KeyboardEvent<HTMLElement>): void {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by || event.defaultPrevented) return;
  const all = foundLinks(event.currentTarget);
  const next = all.indexOf(document.activeElement as HTMLElement) + by;
  event.preventDefault();
  if (next < 0) document.querySelector<HTMLElement>(".session-search input")?.focus();
  else all[Math.min(next, all.length - 1)]?.focus();
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
