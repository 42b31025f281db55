// The folder of a new session: typed, chosen from recent ones, or found by browsing.

import { useEffect, useId, useMemo, useState } from "react";

import { get } from "../../protocol/api";
import { texts } from "../../protocol/wire";
import { useBridge } from "../../state/bridge";
import { useCluster } from "../../state/cluster";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import { baseName } from "../../ui/paths";
import "./folder-field.css";
import { parentIn, recentFolders } from "./folders";
import { hasFolder, rootsOf } from "./where";

const words = strings.sessions.start;

interface Props {
  folder: string;
  change(folder: string): void;
}

export function FolderField({ folder, change }: Props) {
  const [browsing, setBrowsing] = useState(false);
  const sessions = useBridge((known) => known.sessions);
  const recent = useMemo(() => recentFolders(sessions.values()).filter((one) => one !== folder), [sessions, folder]);
  const id = useId();
  return (
    <div className="folder-field">
      <label className="field" htmlFor={id}>
        <span>{words.folder}</span>
      </label>
      <div className="row">
        <input id={id} className="grow" value={folder} required maxLength={4096} spellCheck={false} autoComplete="off" aria-describedby={`${id}-help`} onChange={(event) => change(event.target.value)} />
        <Button aria-expanded={browsing} onClick={() => setBrowsing(!browsing)}>
          <Icon name="folder" />
          {words.choose}
        </Button>
      </div>
      <p id={`${id}-help`} className="small soft">
        {words.folderHelp}
      </p>
      {browsing && <Browser folder={folder} change={change} />}
      {recent.length > 0 && (
        <ul className="folder-recent" aria-label={words.recent}>
          {recent.map((one) => (
            <li key={one}>
              <Button kind="quiet" title={one} onClick={() => change(one)}>
                <Icon name="clock" />
                {baseName(one)}
              </Button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** The folders in the one that is written, and the way up as far as sessions may work. */
function Browser({ folder, change }: Props) {
  const here = useBridge((known) => known.folders);
  const machines = useCluster((known) => known.cluster?.machines);
  const roots = [...new Set([...here, ...rootsOf(machines ?? [])])];
  const elsewhere = (machines ?? []).some((one) => one.runs && hasFolder(one, folder));
  const inside = useFolders(folder);
  const above = parentIn(folder, roots);
  const others = roots.filter((one) => one !== folder && one !== above);
  return (
    <div className="folder-browser" role="group" aria-label={words.browse(baseName(folder))}>
      {above && <Line icon="undo" name={words.up(baseName(above))} path={above} change={change} />}
      {others.map((one) => (
        <Line key={one} icon="folder" name={one} path={one} change={change} />
      ))}
      {(inside ?? []).map((one) => (
        <Line key={one} icon="folder" name={baseName(one)} path={one} change={change} />
      ))}
      {inside?.length === 0 && <p className="small soft">{words.noFolders}</p>}
      {inside === null && <p className="small soft">{elsewhere ? strings.machines.where.elsewhere : words.unknownFolder}</p>}
    </div>
  );
}

function Line({ icon, name, path, change }: { icon: "undo" | "folder"; name: string; path: string; change(folder: string): void }) {
  return (
    <button type="button" className="folder-line" title={path} onClick={() => change(path)}>
      <Icon name={icon} />
      <span className="one-line">{name}</span>
    </button>
  );
}

const PAUSE = 150;

/** The folders in a folder; null where it cannot be looked into, undefined until that is known. */
function useFolders(folder: string): string[] | null | undefined {
  const [told, setTold] = useState<{ folder: string; found: string[] | null }>();
  useEffect(() => {
    let wanted = true;
    const ask = async () => {
      const found = await get<{ below?: string; folders: unknown }>(`/api/folders?below=${encodeURIComponent(folder)}`).then(
        ({ below, folders }) => (below ? texts(folders) : null),
        () => null,
      );
      if (wanted) setTold({ folder, found });
    };
    const wait = setTimeout(() => void (folder ? ask() : setTold({ folder, found: null })), PAUSE);
    return () => {
      wanted = false;
      clearTimeout(wait);
    };
  }, [folder]);
  return told?.folder === folder ? told.found : undefined;
}
