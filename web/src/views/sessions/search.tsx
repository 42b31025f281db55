// Search results from all conversations, the newest first. Each leads to its message.

import { useEffect, useId, useState } from "react";
import { useLocation, useRoute } from "wouter";

import { get, reasonOf } from "../../protocol/api";
import { number, objects, text } from "../../protocol/wire";
import { useBridge } from "../../state/bridge";
import { jumpTo } from "../../state/jump";
import { titleOf } from "../../state/session-actions";
import { strings } from "../../strings";
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

/** What was found in conversations for these words. */
export function SearchHits({ query }: { query: string }) {
  const [, params] = useRoute("/session/:id");
  const here = params?.id ?? "";
  const [onlyHere, setOnlyHere] = useState(false);
  const { hits, error, searching, query: answered } = useSearch(query, onlyHere ? here : "");
  const [, go] = useLocation();
  const visit = (hit: Hit) => {
    jumpTo(hit);
    go(`/session/${hit.session}`);
  };
  const status = error || (searching && hits.length === 0 ? words.searching : !answered ? "" : hits.length === 0 ? words.none : words.found(hits.length, hits.length === MOST));
  return (
    <section className="search" aria-label={words.title}>
      <div className="session-heading small soft">
        <h2>{words.title}</h2>
      </div>
      {here && <Scope onlyHere={onlyHere} choose={setOnlyHere} />}
      <p className="search-status small soft" role="status">
        {status}
      </p>
      <ul className="search-hits">
        {hits.map((hit) => (
          <Line key={`${hit.session} ${hit.seq}`} hit={hit} query={query} visit={() => visit(hit)} />
        ))}
      </ul>
    </section>
  );
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
