// The conversation. It stays at its end only while the reader is there; otherwise a button leads to the new messages.

import { useEffect, useMemo, useRef } from "react";
import { VList, type VListHandle } from "virtua";

import type { Followed } from "../../state/followed";
import { useSaid } from "../../state/jump";
import type { Row } from "../../state/state";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Announcer } from "./announcer";
import "./conversation.css";
import { fold, type Fold } from "./fold";
import { RowView } from "./row";
import { Status } from "./status";
import { useStick } from "./stick";
import { useJumps } from "./use-jump";

type Shown = Row | Fold;

const NEAR_BEGINNING = 600;

export function Conversation({ followed }: { followed: Followed }) {
  const { rows, live } = followed.use((shown) => shown.state);
  const ready = followed.use((shown) => shown.ready);
  const problem = followed.use((shown) => shown.problem);
  const cleared = followed.use((shown) => shown.cleared);
  const from = followed.use((shown) => shown.from);
  const list = useRef<VListHandle>(null);
  const box = useRef<HTMLElement>(null);
  const { atEnd, toEnd, scrolled } = useStick(list, box);
  const shown = useMemo(() => fold(cleared ? rows.slice(cleared) : rows), [rows, cleared]);
  const all = useMemo(() => {
    const streaming = live.slice(Math.max(0, cleared - rows.length));
    return streaming.length ? [...shown, ...streaming] : shown;
  }, [shown, live, rows.length, cleared]);
  const shift = useGrownAbove(from);
  const arrived = useArrived(atEnd, rows.length, live.length > 0);

  useOlder(followed, ready);
  useJumps(followed, all, list);
  useEndWhenSaid(followed.id, toEnd);

  const onScroll = (offset: number) => {
    scrolled(offset);
    if (offset < NEAR_BEGINNING) void followed.older();
  };

  return (
    <section ref={box} className="conversation" role="log" aria-label={strings.conversation.label} aria-live="off">
      {cleared > 0 && (
        <p className="cleared small soft">
          {strings.conversation.cleared(cleared)} <Button kind="quiet" onClick={() => followed.showAll()}>{strings.conversation.showAll}</Button>
        </p>
      )}
      {!ready && <p className="loading soft">{strings.conversation.loading}</p>}
      {problem && <p className="loading" role="alert">{problem}</p>}
      <VList ref={list} className="rows" data={all} shift={shift} onScroll={onScroll} tabIndex={0} item="div">
        {(row: Shown) => <RowView key={row.key} row={row} />}
      </VList>
      <Status followed={followed} />
      <Announcer followed={followed} />
      {!atEnd && (
        <Button className="new-below" onClick={toEnd}>
          {arrived ? strings.conversation.newBelow : strings.conversation.toEnd}
        </Button>
      )}
    </section>
  );
}

/** Whether anything arrived since the reader left the end. */
function useArrived(atEnd: boolean, amount: number, streaming: boolean): boolean {
  const seen = useRef(amount);
  useEffect(() => {
    if (atEnd) seen.current = amount;
  }, [atEnd, amount]);
  return !atEnd && (streaming || amount > seen.current);
}

/** Sending a message scrolls to the end. */
function useEndWhenSaid(id: string, toEnd: () => void): void {
  useEffect(() => useSaid.subscribe(({ session }) => session === id && toEnd()), [id, toEnd]);
}

/** Whether this render adds rows above the existing ones. */
function useGrownAbove(from: number): boolean {
  const before = useRef(from);
  const grown = from !== before.current && before.current !== 0;
  useEffect(() => {
    before.current = from;
  });
  return grown;
}

/** Load older events in the background. */
function useOlder(followed: Followed, ready: boolean): void {
  useEffect(() => {
    if (!ready) return undefined;
    let going = true;
    const next = async () => {
      if (going && (await followed.older().catch(() => false)) && going) setTimeout(next, 50);
    };
    const start = setTimeout(next, 300);
    return () => {
      going = false;
      clearTimeout(start);
    };
  }, [followed, ready]);
}
