// A search in all that was said and done. In: words. Out: places, the newest first, each with a way to it.

import { useEffect, useId, useRef, useState } from "react";
import { useLocation, useRoute } from "wouter";

import { get, reasonOf } from "../../protocol/api";
import { number, objects, text } from "../../protocol/wire";
import { useBridge } from "../../state/bridge";
import { jumpTo } from "../../state/jump";
import { closeDialog } from "../../state/page";
import { titleOf } from "../../state/session-actions";
import { strings } from "../../strings";
import { Dialog } from "../../ui/dialog";
import { visible } from "../../ui/visible";
import { marked } from "./marked";
import "./search.css";
import { TimeAgo } from "../../ui/time-ago";

const words = strings.sessions.find;
const PAUSE = 200;
const MOST = 50;

interface Hit {
  session: string;
  seq: number;
  time: number;
  snippet: string;
}

interface Found {
  query: string;
  hits: Hit[];
  error: string;
}

const NOTHING: Found = { query: "", hits: [], error: "" };

function useSearch(query: string, session: string): Found & { searching: boolean } {
  const [found, setFound] = useState<Found>(NOTHING);
  const wanted = query.trim() && `${query.trim()}\0${session}`;
  useEffect(() => {
    if (!wanted) return undefined;
    const stop = new AbortController();
    const ask = async () => {
      const where = session ? `&session=${encodeURIComponent(session)}` : "";
      try {
        const told = await get<{ hits: unknown }>(`/api/search?q=${encodeURIComponent(query.trim())}&limit=${MOST}${where}`);
        const hits = objects(told.hits).map((one) => ({ session: text(one["session"]), seq: number(one["seq"]), time: number(one["time"]), snippet: text(one["snippet"]) }));
        if (!stop.signal.aborted) setFound({ query: wanted, hits, error: "" });
      } catch (error) {
        if (!stop.signal.aborted) setFound({ query: wanted, hits: [], error: reasonOf(error) });
      }
    };
    const wait = setTimeout(() => void ask(), PAUSE);
    return () => {
      stop.abort();
      clearTimeout(wait);
    };
  }, [wanted, query, session]);
  return wanted ? { ...found, searching: found.query !== wanted } : { ...NOTHING, searching: false };
}

export function Search({ subject }: { subject: string }) {
  const [, params] = useRoute("/session/:id");
  const [query, setQuery] = useState(subject);
  const [onlyHere, setOnlyHere] = useState(false);
  const here = params?.id ?? "";
  const { hits, error, searching, query: answered } = useSearch(query, onlyHere ? here : "");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const results = useRef<HTMLUListElement>(null);
  const [, go] = useLocation();
  const visit = (hit: Hit) => {
    closeDialog();
    jumpTo(hit);
    go(`/session/${hit.session}`);
  };
  const down = (event: React.KeyboardEvent) => {
    if (event.key === "ArrowDown") step(event, results.current, 1);
    if (event.key === "ArrowUp") step(event, results.current, -1);
    if (event.key === "Enter" && hits[0] && event.target instanceof HTMLInputElement && event.target.type === "search") visit(hits[0]);
  };
  const status = error || (searching && hits.length === 0 ? words.searching : !answered ? words.begin : hits.length === 0 ? words.none : words.found(hits.length, hits.length === MOST));
  return (
    <Dialog title={words.title} onClose={closeDialog} wide>
      <div className="search" onKeyDown={down} role="search">
        <input type="search" ref={field} aria-label={words.label} placeholder={words.hint} value={query} maxLength={200} autoComplete="off" onChange={(event) => setQuery(event.target.value)} />
        {here && <Scope onlyHere={onlyHere} choose={setOnlyHere} />}
        <p className="small soft" role="status">
          {status}
        </p>
        <ul ref={results} className="search-hits">
          {hits.map((hit) => (
            <Line key={`${hit.session} ${hit.seq}`} hit={hit} query={query} visit={() => visit(hit)} />
          ))}
        </ul>
      </div>
    </Dialog>
  );
}

function step(event: React.KeyboardEvent, list: HTMLElement | null, by: number): void {
  const all = [...(list?.querySelectorAll<HTMLElement>("button") ?? [])];
  const at = all.indexOf(document.activeElement as HTMLElement) + by;
  if (all.length === 0) return;
  event.preventDefault();
  if (at < 0) list?.closest(".search")?.querySelector<HTMLElement>("input[type=search]")?.focus();
  else all[Math.min(at, all.length - 1)]?.focus();
}

function Scope({ onlyHere, choose }: { onlyHere: boolean; choose(only: boolean): void }) {
  const name = useId();
  return (
    <div className="row small" role="radiogroup" aria-label={words.label}>
      {[false, true].map((only) => (
        <label key={String(only)} className="row">
          <input type="radio" name={name} checked={onlyHere === only} onChange={() => choose(only)} />
          {only ? words.inThis : words.inAll}
        </label>
      ))}
    </div>
  );
}

function Line({ hit, query, visit }: { hit: Hit; query: string; visit(): void }) {
  const session = useBridge((known) => known.sessions.get(hit.session));
  return (
    <li>
      <button type="button" className="search-hit" onClick={visit}>
        <span className="row">
          <strong className="one-line grow">{session ? titleOf(session) : words.unknown}</strong>
          <span className="small soft">
            <TimeAgo time={hit.time} />
          </span>
        </span>
        <span className="search-snippet small soft">
          {marked(visible(hit.snippet), query).map((piece, at) => (piece.found ? <mark key={at}>{piece.text}</mark> : piece.text))}
        </span>
      </button>
    </li>
  );
}
