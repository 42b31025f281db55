// Highlighted code with its language, buttons to copy and wrap, and long text folded to its beginning and end.

import { useMemo, useState, type ReactNode } from "react";

import { setWrap, usePage } from "../state/page";
import { strings } from "../strings";
import { Button } from "./button";
import { Copy } from "./copy";
import "./code.css";
import { useHighlighted, type Piece } from "./highlight";
import { languageNamed } from "./languages";
import { LazyParts } from "./lazy-parts";
import { VisibleText } from "./visible-text";

interface Props {
  text: string;
  /** A name from a fence or from languages.ts. */
  language?: string;
  /** Still streaming: not coloured yet. */
  live?: boolean;
  /** The number of the first line, if lines are numbered. */
  from?: number;
  /** Long text may be folded. Never used in permission prompts. */
  fold?: boolean;
  /** Shown in the bar instead of the language; null hides the bar. */
  title?: ReactNode;
}

export function Code({ text, language = "", live = false, from, fold = false, title }: Props) {
  const known = languageNamed(language);
  const body = useMemo(() => ended(text.replaceAll("\r\n", "\n")), [text]);
  const coloured = useHighlighted(body, known, !live);
  const wrap = usePage((page) => page.wrap);
  const [all, setAll] = useState(false);
  const lines = useMemo(() => coloured ?? plainLines(body), [coloured, body]);
  const { head, tail, hidden } = cut(lines.length, fold && !all);
  const numbered = from !== undefined;
  const draw = (begin: number, end: number) => lines.slice(begin, end).map((line, at) => <Line key={begin + at} pieces={line} number={numbered ? from + begin + at : undefined} />);
  return (
    <div className={`code${wrap ? " wrapped" : ""}${numbered ? " numbered" : ""}`}>
      {title !== null && <Bar title={title ?? (language || strings.tools.text)} text={text} wrap={wrap} />}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- scrollable regions must be reachable by keyboard */}
      <pre tabIndex={0} role="region" aria-label={strings.tools.code(typeof title === "string" ? title : language)}>
        <code>
          <LazyParts begin={0} end={head} draw={draw} />
          {hidden > 0 && (
            <Button kind="quiet" className="code-more" onClick={() => setAll(true)}>
              {strings.tools.moreLines(hidden)}
            </Button>
          )}
          {draw(tail, lines.length)}
        </code>
      </pre>
    </div>
  );
}

function Bar({ title, text, wrap }: { title: ReactNode; text: string; wrap: boolean }) {
  return (
    <div className="code-bar">
      <span className="code-title grow one-line">{title}</span>
      <Button kind="quiet" aria-pressed={wrap} title={strings.tools.wrapTip} onClick={() => setWrap(!wrap)}>
        {strings.tools.wrap}
      </Button>
      <Copy text={text} label={strings.tools.copyCode} />
    </div>
  );
}

function Line({ pieces, number }: { pieces: Piece[]; number: number | undefined }) {
  return (
    <span className="code-line" data-number={number}>
      {pieces.map((piece, at) =>
        piece.look ? (
          <span key={at} className={`syntax-${piece.look}`}>
            <VisibleText text={piece.text} />
          </span>
        ) : (
          <VisibleText key={at} text={piece.text} />
        ),
      )}
      {"\n"}
    </span>
  );
}

const plainLines = (text: string): Piece[][] => text.split("\n").map((line) => [{ text: line, look: "" }]);
const ended = (text: string): string => (text.endsWith("\n") ? text.slice(0, -1) : text);

export const HEAD = 40;
export const TAIL = 20;
/** Fewer hidden lines than this are not worth a button. */
const SLACK = 20;

/** The visible lines: up to `head`, and from `tail`. */
export function cut(count: number, fold: boolean): { head: number; tail: number; hidden: number } {
  if (!fold || count <= HEAD + TAIL + SLACK) return { head: count, tail: count, hidden: 0 };
  return { head: HEAD, tail: count - TAIL, hidden: count - HEAD - TAIL };
}
