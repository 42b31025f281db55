// The changes in a file, in one column, or side by side if the user chose it and there is room.

import { useMemo, useState } from "react";

import type { Hunk } from "../protocol/wire";
import { setSideBySide, usePage } from "../state/page";
import { strings } from "../strings";
import { Button } from "./button";
import { Copy } from "./copy";
import "./diff.css";
import { countOf, rowsOf, type DiffRow } from "./diff-rows";
import { SplitRows, UnifiedRows } from "./diff-lines";
import { Icon } from "./icon";
import { useMedia } from "./use-media";
import { VisibleText } from "./visible-text";

interface Props {
  /** The path shown; `fullPath` is the one copied. */
  path: string;
  fullPath?: string;
  hunks: Hunk[];
  created?: boolean;
  /** Draw everything, with nothing folded: for permission prompts. */
  whole?: boolean;
  /** Show line numbers; false if the position in the file is unknown. */
  numbers?: boolean;
}

/** Rows drawn at first. */
const FIRST = 300;
const WIDE = "(min-width: 1100px)";

export function Diff({ path, fullPath = path, hunks, created = false, whole = false, numbers = true }: Props) {
  const wide = useMedia(WIDE);
  const split = usePage((page) => page.sideBySide) && wide && !created;
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const [all, setAll] = useState(whole);
  const rows = useMemo(() => open(rowsOf(hunks), whole ? "all" : opened), [hunks, opened, whole]);
  const shown = all ? rows : rows.slice(0, FIRST);
  const Rows = split ? SplitRows : UnifiedRows;
  const onOpen = (at: number) => setOpened((before) => new Set([...before, at]));
  return (
    <div className={numbers ? "diff" : "diff no-numbers"}>
      <Head path={path} fullPath={fullPath} hunks={hunks} created={created} wide={wide && !created} split={split} />
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- scrollable regions must be reachable by keyboard */}
      <div className="diff-body" tabIndex={0} role="region" aria-label={strings.tools.changesIn(path)}>
        {rows.length === 0 && <p className="small soft diff-none">{strings.tools.noChange}</p>}
        <Rows rows={shown} onOpen={onOpen} />
        {shown.length < rows.length && (
          <Button kind="quiet" className="code-more" onClick={() => setAll(true)}>
            {strings.tools.moreLines(rows.length - shown.length)}
          </Button>
        )}
      </div>
    </div>
  );
}

/** Replaces opened folds by their lines. A fold is identified by the number of its first line. */
function open(rows: DiffRow[], opened: ReadonlySet<number> | "all"): DiffRow[] {
  return rows.flatMap((row) => {
    if (row.kind !== "fold" || row.rows.length === 0) return [row]; // the patch does not contain these lines
    return opened === "all" || opened.has(row.rows[0]!.before) ? row.rows : [row];
  });
}

function Head({ path, fullPath, hunks, created, wide, split }: { path: string; fullPath: string; hunks: Hunk[]; created: boolean; wide: boolean; split: boolean }) {
  const { added, removed } = useMemo(() => countOf(hunks), [hunks]);
  return (
    <div className="code-bar diff-head">
      <Icon name="file" size={14} />
      <code className="one-line" title={fullPath}>
        <VisibleText text={path} />
      </code>
      {created && <span className="diff-new">{strings.tools.newFile}</span>}
      <span className="diff-count">
        <span className="diff-plus" aria-label={strings.tools.linesAdded(added)} role="img">+{added}</span>
        {!created && <span className="diff-minus" aria-label={strings.tools.linesRemoved(removed)} role="img">−{removed}</span>}
      </span>
      <span className="grow" />
      {wide && (
        <Button kind="quiet" aria-pressed={split} onClick={() => setSideBySide(!split)}>
          {strings.tools.sideBySide}
        </Button>
      )}
      <Copy text={fullPath} label={strings.tools.copyPath} />
    </div>
  );
}
