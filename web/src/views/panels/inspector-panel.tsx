// The inspector: the raw frames of a session in both directions, for debugging.

import { useMemo, useRef, useState } from "react";
import { VList, type VListHandle } from "virtua";

import { reasonOf, request } from "../../protocol/api";
import { addressOf } from "../../protocol/base-path";
import { useMay } from "../../state/bridge";
import type { Followed } from "../../state/followed";
import { tell } from "../../state/notices";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { copyAndTell } from "../../ui/copy";
import { fits, pairOf, type Filter, type Line } from "./inspected";
import { InspectedLine } from "./inspected-line";
import "./inspector-panel.css";
import { useInspected, type Source } from "./use-inspected";

const words = strings.panels.inspector;

export function InspectorPanel({ followed }: { followed: Followed }) {
  const admin = useMay("admin");
  const [chosen, setSource] = useState<Source>("wire");
  const source = admin ? chosen : "events";
  return (
    <>
      <section className="panel-part inspector-head">
        <p className="soft">{admin ? words.meaning : words.needsAdmin}</p>
        {admin && (
          <select aria-label={words.source} value={source} onChange={(event) => setSource(event.target.value as Source)}>
            {Object.entries(words.sources).map(([value, name]) => <option key={value} value={value}>{name}</option>)}
          </select>
        )}
      </section>
      <Watched key={source} session={followed.id} source={source} />
    </>
  );
}

function Watched({ session, source }: { session: string; source: Source }) {
  const [paused, setPaused] = useState(false);
  const [filter, setFilter] = useState<Filter>({ text: "", direction: "", stream: false });
  const { lines, dropped, problem, read } = useInspected(session, source, paused);
  const shown = useMemo(() => lines.filter((line) => fits(line, filter)), [lines, filter]);
  return (
    <>
      <section className="panel-part inspector-head">
        <Filters filter={filter} onFilter={setFilter} />
        <div className="row inspector-actions">
          <span className="grow soft inspector-count" role="status">{words.count(shown.length, lines.length)}</span>
          <Button aria-pressed={paused} onClick={() => setPaused(!paused)}>{paused ? words.go : words.pause}</Button>
          <Recording session={session} source={source} lines={lines} />
        </div>
        {problem && <p className="panel-problem">{words.unavailable(problem)}</p>}
        {dropped > 0 && <p className="soft">{words.dropped(dropped)}</p>}
        {shown.length === 0 && !problem && <p className="soft">{!read ? words.loading : lines.length ? words.noMatch : words.none}</p>}
      </section>
      <Lines all={lines} shown={shown} onShowAll={() => setFilter({ text: "", direction: "", stream: true })} />
    </>
  );
}

function Filters({ filter, onFilter }: { filter: Filter; onFilter(filter: Filter): void }) {
  return (
    <>
      <div className="row">
        <input className="grow" type="search" aria-label={words.filter} placeholder={words.filter} value={filter.text} onChange={(event) => onFilter({ ...filter, text: event.target.value })} />
        <select aria-label={words.direction} value={filter.direction} onChange={(event) => onFilter({ ...filter, direction: event.target.value })}>
          {Object.entries(words.directions).map(([value, name]) => <option key={value} value={value}>{name}</option>)}
        </select>
      </div>
      <label className="row">
        <input type="checkbox" checked={filter.stream} onChange={(event) => onFilter({ ...filter, stream: event.target.checked })} />
        {words.stream}
      </label>
    </>
  );
}

/** Frames are copied as a recording for `handrail replay`, persisted events as their lines. */
function Recording({ session, source, lines }: { session: string; source: Source; lines: readonly Line[] }) {
  const path = `/api/sessions/${session}/wire/recording`;
  const take = async () => {
    try {
      const text = source === "wire" ? await recording(path) : lines.map((line) => line.whole).join("\n");
      await copyAndTell(text);
    } catch (error) {
      tell(reasonOf(error), "error");
    }
  };
  return (
    <>
      <Button onClick={() => void take()}>{words.recording}</Button>
      {source === "wire" && <a className="button plain" href={addressOf(path)} download={`${session}.ndjson`}>{words.download}</a>}
    </>
  );
}

async function recording(path: string): Promise<string> {
  const answer = await fetch(addressOf(path), { credentials: "same-origin" });
  if (!answer.ok) await request(path); // throws with the reason
  return answer.text();
}

function Lines({ all, shown, onShowAll }: { all: readonly Line[]; shown: readonly Line[]; onShowAll(): void }) {
  const box = useRef<VListHandle>(null);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const toggle = (n: number) => setOpen((known) => new Set(known.has(n) ? [...known].filter((one) => one !== n) : [...known, n]));
  const jump = (n: number) => {
    const there = shown.some((line) => line.n === n);
    if (!there) onShowAll();
    setOpen((known) => new Set([...known, n]));
    const go = () => {
      const at = (there ? shown : all).findIndex((line) => line.n === n);
      box.current?.scrollToIndex(at, { align: "center" });
      requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-line="${n}"] button`)?.focus());
    };
    if (there) go();
    else setTimeout(go, 50); // after the list has been drawn with all lines
  };
  return (
    <VList ref={box} className="inspected" data={shown as Line[]} aria-label={words.list} role="list">
      {(line: Line) => <InspectedLine key={line.n} line={line} pair={pairOf(all, line)} open={open.has(line.n)} onToggle={() => toggle(line.n)} onJump={jump} />}
    </VList>
  );
}
