// The folder of a new session: typed, chosen from recent ones, or found by browsing.

import { useEffect, useId, useMemo, useState } from "react";

import { get, Refused } from "../../protocol/api";
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
  inside: Inside | undefined;
}

export function FolderField({ folder, change, inside }: Props) {
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
        <input id={id} className="grow" value={folder} required maxLength={4096} spellCheck={false} autoComplete="off" aria-describedby={`${id}-help`} aria-invalid={Boolean(inside?.problem)} onChange={(event) => change(event.target.value)} />
        <Button aria-expanded={browsing} onClick={() => setBrowsing(!browsing)}>
          <Icon name="folder" />
          {words.choose}
        </Button>
      </div>
      <p id={`${id}-help`} className={inside?.problem ? "small field-error" : "small soft"} role={inside?.problem ? "alert" : undefined}>
        {inside?.problem || words.folderHelp}
      </p>
      {browsing && <Browser folder={folder} change={change} inside={inside} />}
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
function Browser({ folder, change, inside }: Props) {
  const here = useBridge((known) => known.folders);
  const machines = useCluster((known) => known.cluster?.machines);
  const roots = [...new Set([...here, ...rootsOf(machines ?? [])])];
  const above = parentIn(folder, roots);
  const others = roots.filter((one) => one !== folder && one !== above);
  return (
    <div className="folder-browser" role="group" aria-label={words.browse(baseName(folder))}>
      {above && <Line icon="undo" name={words.up(baseName(above))} path={above} change={change} />}
      {others.map((one) => (
        <Line key={one} icon="folder" name={one} path={one} change={change} />
      ))}
      {(inside?.folders ?? []).map((one) => (
        <Line key={one} icon="folder" name={baseName(one)} path={one} change={change} />
      ))}
      {inside?.folders?.length === 0 && <p className="small soft">{words.noFolders}</p>}
      {inside && !inside.folders && !inside.problem && <p className="small soft">{strings.machines.where.elsewhere}</p>}
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

/** The folders in a folder; null where only another machine has it. `problem`: why no session can work there, in the server's words. */
export interface Inside {
  folders: string[] | null;
  problem: string;
}

/** What is in a folder; undefined until the server has answered. */
export function useInside(folder: string): Inside | undefined {
  const machines = useCluster((known) => known.cluster?.machines);
  const elsewhere = (machines ?? []).some((one) => one.runs && hasFolder(one, folder));
  const [told, setTold] = useState<{ folder: string; found: Inside }>();
  useEffect(() => {
    let wanted = true;
    const ask = async () => {
      const found = await get<{ below?: string; folders: unknown }>(`/api/folders?below=${encodeURIComponent(folder)}`).then(
        ({ below, folders }) => ({ folders: below ? texts(folders) : null, problem: "" }),
        (error: unknown) => ({ folders: null, problem: error instanceof Refused && error.status === 400 ? error.message : "" }),
      );
      if (wanted) setTold({ folder, found });
    };
    const wait = setTimeout(() => void (folder && ask()), PAUSE);
    return () => {
      wanted = false;
      clearTimeout(wait);
    };
  }, [folder]);
  if (told?.folder !== folder) return undefined;
  return elsewhere ? { ...told.found, problem: "" } : told.found;
}
