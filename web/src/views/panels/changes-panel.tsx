// The files a session changed, each with its diff, and all of them as one patch.

import { useMemo, useState } from "react";

import { useBridge } from "../../state/bridge";
import type { Followed } from "../../state/followed";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { copyAndTell } from "../../ui/copy";
import { Diff } from "../../ui/diff";
import { Icon } from "../../ui/icon";
import { shorten } from "../../ui/paths";
import { changeOf, filesOf, patchOf, writers, type ChangedFile } from "./changes";
import "./changes-panel.css";

const words = strings.panels.changes;

export function ChangesPanel({ followed }: { followed: Followed }) {
  const files = useFiles(followed);
  const folder = useBridge((known) => known.sessions.get(followed.id)?.cwd ?? "");
  const partly = followed.use((shown) => shown.from > shown.first && shown.first > 0);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (path: string) => setOpen((known) => new Set(known.has(path) ? [...known].filter((one) => one !== path) : [...known, path]));
  const allOpen = files.length > 0 && files.every((file) => open.has(file.path));
  return (
    <section className="panel-part">
      {partly && <p className="soft">{words.older}</p>}
      {files.length === 0 ? (
        <p className="soft">{words.none}</p>
      ) : (
        <>
          <div className="row">
            <span className="grow">
              {words.totals(files.length)} <Figures added={sum(files, "added")} removed={sum(files, "removed")} />
            </span>
            <Button kind="quiet" onClick={() => setOpen(new Set(allOpen ? [] : files.map((file) => file.path)))}>
              {allOpen ? words.closeAll : words.openAll}
            </Button>
            <Button kind="quiet" onClick={() => void copyAndTell(patchOf(files, folder))}>
              <Icon name="copy" /> {words.copyPatch}
            </Button>
          </div>
          <ul className="changed-files">
            {files.map((file) => (
              <FileView key={file.path} file={file} folder={folder} open={open.has(file.path)} onToggle={() => toggle(file.path)} />
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

/** Recomputed only when a file is written, not for every streamed token. */
function useFiles(followed: Followed): ChangedFile[] {
  const rows = followed.use((shown) => shown.state.rows);
  const calls = useMemo(() => writers(rows), [rows]);
  const key = calls.map(({ call }) => call.id).join(" ");
  // eslint-disable-next-line react/exhaustive-deps -- the key changes with the calls
  return useMemo(() => filesOf(calls.map(({ call, nested }) => changeOf(call, nested))), [key]);
}

const sum = (files: readonly ChangedFile[], name: "added" | "removed"): number => files.reduce((all, file) => all + file[name], 0);

function Figures({ added, removed }: { added: number; removed: number }) {
  return (
    <span className="diff-figures">
      <span className="plus">+{added}</span> <span className="minus">−{removed}</span>
    </span>
  );
}

interface Props {
  file: ChangedFile;
  folder: string;
  open: boolean;
  onToggle(): void;
}

function FileView({ file, folder, open, onToggle }: Props) {
  const name = shorten(file.path, folder);
  return (
    <li className="changed-file">
      <div className="row">
        <button type="button" className="changed-name grow" aria-expanded={open} onClick={onToggle}>
          <span className="changed-chevron"><Icon name="chevron" /></span>
          <code>{name}</code>
          {file.created && <span className="soft">{words.created}</span>}
          <Figures added={file.added} removed={file.removed} />
        </button>
        <Button kind="quiet" aria-label={`${words.copyPath}: ${name}`} title={words.copyPath} onClick={() => void copyAndTell(file.path)}>
          <Icon name="copy" />
        </Button>
      </div>
      {open && <Opened file={file} name={name} />}
    </li>
  );
}

function Opened({ file, name }: { file: ChangedFile; name: string }) {
  const several = file.changes.length > 1;
  return (
    <div className="changed-body">
      {several && file.whole && <p className="soft">{words.whole}</p>}
      {!file.whole && <p className="soft">{words.cut}</p>}
      {file.hunks.length === 0 ? <p className="soft">{words.noDiff}</p> : <Diff path={name} fullPath={file.path} hunks={file.hunks} created={file.created} />}
      {several && <Single file={file} name={name} />}
    </div>
  );
}

function Single({ file, name }: { file: ChangedFile; name: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{words.single}: {words.times(file.changes.length)}</summary>
      {open && file.changes.map((change, at) => (
        <div key={change.call} className="changed-body">
          {change.nested && <p className="soft">{words.by}</p>}
          <Diff path={words.nth(name, at + 1)} fullPath={file.path} hunks={change.hunks} created={change.created} />
        </div>
      ))}
    </details>
  );
}
