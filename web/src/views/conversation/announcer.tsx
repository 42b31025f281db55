// A live region for screen readers. Announces each row once when it is complete, not while it streams.

import { own } from "../../protocol/wire";
import { useEffect, useRef, useState } from "react";

import type { Followed } from "../../state/followed";
import type { Row } from "../../state/state";
import { strings } from "../../strings";

const MOST = 500;

/** The announcement for a row; "" for rows that should not interrupt the user. */
export function spoken(row: Row): string {
  if (row.kind === "text") return row.text.slice(0, MOST);
  if (row.kind === "notice") return row.tone === "quiet" ? "" : (strings.notices[row.about]?.(row.facts) ?? "");
  if (row.kind === "end") return row.problem ? (own(strings.conversation.problems, row.problem) ?? row.problem) : strings.conversation.turnDone;
  return "";
}

interface Saying {
  key: number;
  said: string;
}

export function Announcer({ followed }: { followed: Followed }) {
  const rows = followed.use((shown) => shown.state.rows);
  const ready = followed.use((shown) => shown.ready);
  const questions = followed.use((shown) => shown.state.questions.length);
  const told = useRef<Row | undefined>(undefined);
  const [words, setWords] = useState<readonly Saying[]>([]);
  useEffect(() => {
    const last = rows.at(-1);
    const before = told.current;
    told.current = last;
    if (!ready || !before || before.key === last?.key) return; // loaded rows are not news
    const from = rows.findLastIndex((row) => row.key === before.key); // by key, as a changed row is another object
    const fresh = from < 0 ? rows.slice(-1) : rows.slice(from + 1);
    const said = fresh.map(spoken).filter(Boolean).join(" ");
    if (said) setWords((last) => [...last.slice(-1), { key: (last.at(-1)?.key ?? 0) + 1, said }]); // keep the previous one, so that it is not cut off
  }, [rows, ready]);
  return (
    <div className="unseen" aria-live="polite">
      {words.map((one) => (
        <p key={one.key}>{one.said}</p>
      ))}
      {questions > 0 && <p key="asked">{strings.conversation.needsYou(questions)}</p>}
    </div>
  );
}
