// Program output as a terminal shows it. Long output is folded to its beginning and end.

import { useMemo, useState } from "react";

import { usePage } from "../state/page";
import { strings } from "../strings";
import { terminal, type Piece } from "./ansi";
import { Button } from "./button";
import { cut, HEAD } from "./code";
import "./terminal.css";
import { VisibleText } from "./visible-text";

interface Props {
  text: string;
  /** Label for screen readers. */
  label: string;
  /** Error output, marked as such. */
  wrong?: boolean;
  /** Only the beginning is in `text`: the number of all lines, and the last ones. */
  whole?: { lines: number; tail: string };
  /** It is still growing: its end is shown. */
  end?: boolean;
}

export function Terminal({ text, label, wrong = false, whole, end = false }: Props) {
  const wrap = usePage((page) => page.wrap);
  const [all, setAll] = useState(false);
  const lines = useMemo(() => terminal(text.replace(/\n+$/, "")), [text]);
  const last = useMemo(() => (whole ? terminal(whole.tail.replace(/\n+$/, "")) : []), [whole]);
  const { head, tail, hidden } = end ? growing(lines.length) : whole ? between(whole.lines, last.length) : cut(lines.length, !all);
  const draw = (begin: number, end: number) => lines.slice(begin, end).map((line, at) => <Line key={begin + at} pieces={line} />);
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- scrollable regions must be reachable by keyboard
    <pre className={`terminal${wrap ? " wrapped" : ""}${wrong ? " wrong" : ""}`} tabIndex={0} role="region" aria-label={label}>
      {draw(0, head)}
      {hidden > 0 && (whole || end) && <span className="terminal-line soft">{end ? "…" : strings.tools.moreLines(hidden)}{"\n"}</span>}
      {hidden > 0 && !whole && !end && (
        <Button kind="quiet" className="code-more" onClick={() => setAll(true)}>
          {strings.tools.moreLines(hidden)}
        </Button>
      )}
      {whole ? last.map((line, at) => <Line key={-1 - at} pieces={line} />) : draw(tail, lines.length)}
    </pre>
  );
}

/** Of a growing output the last lines are shown. */
const growing = (count: number) => ({ head: 0, tail: Math.max(0, count - HEAD), hidden: Math.max(0, count - HEAD) });
/** The first lines are in the text, the last ones beside it. */
const between = (count: number, tail: number) => ({ head: HEAD, tail: count, hidden: Math.max(0, count - HEAD - tail) });

function Line({ pieces }: { pieces: Piece[] }) {
  return (
    <span className="terminal-line">
      {pieces.map((piece, at) =>
        piece.look ? (
          <span key={at} className={piece.look}>
            <VisibleText text={piece.text} care="prose" />
          </span>
        ) : (
          <VisibleText key={at} text={piece.text} care="prose" />
        ),
      )}
      {"\n"}
    </span>
  );
}
