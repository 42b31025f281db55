// Program output as a terminal shows it. Long output is folded to its beginning and end.

import { useMemo, useState } from "react";

import { usePage } from "../state/page";
import { strings } from "../strings";
import { terminal, type Piece } from "./ansi";
import { Button } from "./button";
import { cut } from "./code";
import "./terminal.css";
import { VisibleText } from "./visible-text";

interface Props {
  text: string;
  /** Label for screen readers. */
  label: string;
  /** Error output, marked as such. */
  wrong?: boolean;
}

export function Terminal({ text, label, wrong = false }: Props) {
  const wrap = usePage((page) => page.wrap);
  const [all, setAll] = useState(false);
  const lines = useMemo(() => terminal(text.replace(/\n+$/, "")), [text]);
  const { head, tail, hidden } = cut(lines.length, !all);
  const draw = (begin: number, end: number) => lines.slice(begin, end).map((line, at) => <Line key={begin + at} pieces={line} />);
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- scrollable regions must be reachable by keyboard
    <pre className={`terminal${wrap ? " wrapped" : ""}${wrong ? " wrong" : ""}`} tabIndex={0} role="region" aria-label={label}>
      {draw(0, head)}
      {hidden > 0 && (
        <Button kind="quiet" className="code-more" onClick={() => setAll(true)}>
          {strings.tools.moreLines(hidden)}
        </Button>
      )}
      {draw(tail, lines.length)}
    </pre>
  );
}

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
