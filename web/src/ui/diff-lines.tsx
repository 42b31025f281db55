// The lines of a diff, in one column or two.

import { strings } from "../strings";
import { Button } from "./button";
import { runs, type DiffRow, type LineRow, type Mark } from "./diff-rows";
import { Icon } from "./icon";
import { LazyParts } from "./lazy-parts";
import { VisibleText } from "./visible-text";

interface Props {
  rows: DiffRow[];
  /** A fold was opened, given by the number of its first line. */
  onOpen(line: number): void;
}

const SIGNS = { same: " ", added: "+", removed: "−" };

export function UnifiedRows({ rows, onOpen }: Props) {
  return (
    <div className="diff-rows unified">
      <LazyParts begin={0} end={rows.length} draw={(begin, end) => rows.slice(begin, end).map((row, at) => <UnifiedRow key={begin + at} row={row} onOpen={onOpen} />)} />
    </div>
  );
}

function UnifiedRow({ row, onOpen }: { row: DiffRow; onOpen: Props["onOpen"] }) {
  if (row.kind === "fold") return <Fold row={row} onOpen={onOpen} />;
  return (
    <div className={`diff-row ${row.kind}`}>
      <Number line={row.before} />
      <Number line={row.after} />
      <Text row={row} />
    </div>
  );
}

type Pair = [LineRow | undefined, LineRow | undefined];
type SplitPart = Pair | Extract<DiffRow, { kind: "fold" }>;

/** Pairs each removed line with the added line that replaces it. */
function pairs(rows: LineRow[]): Pair[] {
  return runs(rows).flatMap(({ same, removed, added }) => {
    const both = Array.from({ length: Math.max(removed.length, added.length) }, (_, at): Pair => [removed[at], added[at]]);
    return [...same.map((row): Pair => [row, row]), ...both];
  });
}

export function SplitRows({ rows, onOpen }: Props) {
  const parts: SplitPart[] = [];
  let run: LineRow[] = [];
  for (const row of rows) {
    if (row.kind !== "fold") {
      run.push(row);
      continue;
    }
    parts.push(...pairs(run), row);
    run = [];
  }
  parts.push(...pairs(run));
  return (
    <div className="diff-rows split">
      <LazyParts begin={0} end={parts.length} draw={(begin, end) => parts.slice(begin, end).map((part, at) => <SplitRow key={begin + at} part={part} onOpen={onOpen} />)} />
    </div>
  );
}

function SplitRow({ part, onOpen }: { part: SplitPart; onOpen: Props["onOpen"] }) {
  if (!Array.isArray(part)) return <Fold row={part} onOpen={onOpen} />;
  return (
    <div className="diff-pair">
      <Half row={part[0]} side="before" />
      <Half row={part[1]} side="after" />
    </div>
  );
}

function Half({ row, side }: { row: LineRow | undefined; side: "before" | "after" }) {
  if (!row) return <div className="diff-half nothing" />;
  return (
    <div className={`diff-half ${row.kind}`}>
      <Number line={row[side]} />
      <Text row={row} />
    </div>
  );
}

const Number = ({ line }: { line: number }) => <span className="diff-number" data-number={line || undefined} />;

function Text({ row }: { row: LineRow }) {
  return (
    <code className="diff-text">
      <span className="diff-sign">{SIGNS[row.kind]}</span>
      {row.marks.map((mark, at) => (
        <Words key={at} mark={mark} kind={row.kind} />
      ))}
      {"\n"}
    </code>
  );
}

function Words({ mark, kind }: { mark: Mark; kind: LineRow["kind"] }) {
  const text = <VisibleText text={mark.text} />;
  if (!mark.changed) return text;
  return kind === "added" ? <ins>{text}</ins> : <del>{text}</del>;
}

function Fold({ row, onOpen }: { row: Extract<DiffRow, { kind: "fold" }>; onOpen: Props["onOpen"] }) {
  const words = strings.tools.unchanged(row.count);
  const first = row.rows[0];
  if (!first) return <div className="diff-fold soft">{words}</div>;
  return (
    <Button kind="quiet" className="diff-fold" onClick={() => onOpen(first.before)}>
      <Icon name="chevron" size={12} /> {words}
    </Button>
  );
}
