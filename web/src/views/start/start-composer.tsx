// The field of the start page. Enter starts a session with what is written, in the chosen folder, with the chosen model and mode.

import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { useLocation } from "wouter";

import { foldersNamed, useBridge, useMay, type Known } from "../../state/bridge";
import { chosenFields, NO_CHOICE, useDefaults, useOffered } from "../../state/choices";
import { useCluster, type Machine } from "../../state/cluster";
import { setDraft, START, useDraft } from "../../state/drafts";
import { openDialog } from "../../state/page";
import { startSession } from "../../state/session-actions";
import { strings } from "../../strings";
import { modeName } from "../../strings/settings";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import { Menu } from "../../ui/menu";
import { baseName } from "../../ui/paths";
import { useMedia } from "../../ui/use-media";
import { likeliestFolder, recentFolders } from "../sessions/folders";
import { AgentMenu } from "../sessions/agent-choice";
import { rootsOf } from "../sessions/where";
import { modeOptions } from "../settings/options";

const words = strings.start;
/** Modes that allow nothing which the settings do not. */
const ASKING = ["default", "plan"];

export function StartComposer() {
  const written = useDraft(START);
  const [folder, setFolder] = useFolder();
  const [agent, setAgent] = useState("");
  const [choices, setChoices] = useState(NO_CHOICE);
  const defaults = useDefaults();
  const [busy, setBusy] = useState(false);
  const [, go] = useLocation();
  const field = useRef<HTMLTextAreaElement>(null);
  const touch = useMedia("(pointer: coarse)");
  useEffect(() => {
    if (!touch) field.current?.focus({ preventScroll: true }); // on a phone its keyboard would open
  }, [touch]);
  const ready = written.trim() !== "" && !busy;
  const start = async () => {
    if (!ready) return;
    setBusy(true);
    const cwd = folder || (await awaitedFolder());
    if (!cwd) openDialog("new-session", written);
    const id = cwd && (await startSession({ cwd, prompt: written, ...(agent && { agent }), ...chosenFields(choices) }));
    setBusy(false);
    if (!id) return; // the refusal was shown; the field keeps its text
    setDraft(START, "");
    go(`/session/${id}`);
  };
  const press = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || event.key !== "Enter" || event.shiftKey || event.altKey) return;
    event.preventDefault();
    void start();
  };
  return (
    <form className="start-composer" onSubmit={(event) => (event.preventDefault(), void start())}>
      <textarea ref={field} rows={3} aria-label={words.field} placeholder={touch ? words.hintTouch : words.hint} value={written} onChange={(event) => setDraft(START, event.target.value)} onKeyDown={press} />
      <div className="start-choices row">
        <FolderMenu folder={folder} choose={setFolder} other={() => openDialog("new-session", written)} />
        <AgentMenu agent={agent} choose={(name) => (setAgent(name), setChoices({ ...choices, model: "" }))} />
        <ModelChoice agent={agent} model={choices.model} fallback={agent ? "" : defaults.model} choose={(model) => setChoices({ ...choices, model })} />
        <ModeChoice mode={choices.mode || defaults.mode || "default"} choose={(mode) => setChoices({ ...choices, mode })} />
        <Button kind="quiet" onClick={() => openDialog("new-session", written)}>
          {words.options}
        </Button>
        <Button kind="main" type="submit" disabled={!ready} keys="Enter">
          <Icon name="send" /> {busy ? words.starting : words.start}
        </Button>
      </div>
    </form>
  );
}

/** The chosen folder; until one is chosen, the one used last. */
function useFolder(): [string, (folder: string) => void] {
  const machines = useCluster((known) => known.cluster?.machines);
  const likeliest = useBridge((known) => suggested(known, machines));
  const [chosen, setChosen] = useState("");
  return [chosen || likeliest, setChosen];
}

const suggested = ({ sessions, folders }: Known, machines: Machine[] = []): string => likeliestFolder(sessions, "", [...folders, ...rootsOf(machines)]);

/** The folder for a task that was sent before the server had named its folders; "" if it has none. */
async function awaitedFolder(): Promise<string> {
  await foldersNamed();
  return suggested(useBridge.getState(), useCluster.getState().cluster?.machines);
}

function FolderMenu({ folder, choose, other }: { folder: string; choose(folder: string): void; other(): void }) {
  const sessions = useBridge((known) => known.sessions);
  const roots = useBridge((known) => known.folders);
  const folders = useMemo(() => [...new Set([...recentFolders(sessions.values()), ...roots])], [sessions, roots]);
  const items = [
    ...folders.map((one) => ({ id: one, label: baseName(one) || one, help: one, chosen: one === folder, pick: () => choose(one) })),
    { id: "\u0000other", label: words.otherFolder, chosen: false, pick: other },
  ];
  const name = folder ? baseName(folder) || folder : words.noFolder;
  return (
    <Menu
      label={words.folder(name)}
      title={folder}
      button={
        <>
          <Icon name="folder" />
          <span className="one-line">{name}</span>
          <Icon name="down" size={12} />
        </>
      }
      items={items}
    />
  );
}

function ModelChoice({ agent, model, fallback, choose }: { agent: string; model: string; fallback: string; choose(model: string): void }) {
  const { models } = useOffered(agent);
  const demo = useBridge((known) => known.cli?.demo ?? false);
  const offered = models.filter((one) => one.value && one.value !== "default");
  if (agent ? offered.length === 0 : demo) return null; // there is one model, and it is named below, or an agent has not told its models
  const named = (value: string) => offered.find((one) => one.value === value)?.name ?? value;
  const own = fallback ? named(fallback) : words.defaultModel;
  const items = [
    { id: "default", label: own, help: words.defaultModelHelp, chosen: model === "", pick: () => choose("") },
    ...offered.map((one) => ({ id: one.value, label: one.name, help: one.description, chosen: one.value === model, pick: () => choose(one.value) })),
  ];
  const shown = model ? named(model) : own;
  return <Menu label={words.model(shown)} button={<><span className="one-line">{shown}</span><Icon name="down" size={12} /></>} items={items} />;
}

function ModeChoice({ mode, choose }: { mode: string; choose(mode: string): void }) {
  const mayApprove = useMay("approve");
  const items = modeOptions(false).map(({ value, name, what }) => ({ id: value, label: name, help: what, chosen: value === mode, disabled: !mayApprove && !ASKING.includes(value), pick: () => choose(value) }));
  return <Menu label={words.mode(modeName(mode))} button={<><span className="one-line">{modeName(mode)}</span><Icon name="down" size={12} /></>} items={items} />;
}
