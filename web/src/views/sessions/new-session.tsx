// The dialog for a new session: folder, first message and options. The most likely folder is filled in.

import { useState } from "react";
import { useLocation, useRoute } from "wouter";

import { useBridge } from "../../state/bridge";
import { useCluster } from "../../state/cluster";
import { chosenFields, NO_CHOICE, useDefaults, type Choices } from "../../state/choices";
import { setDraft, START } from "../../state/drafts";
import { closeDialog } from "../../state/page";
import { startSession } from "../../state/session-actions";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { AdvancedForm } from "./advanced-form";
import { AgentField } from "./agent-choice";
import { FolderField, useInside } from "./folder-field";
import { likeliestFolder } from "./folders";
import { isValid, limitFields, NO_LIMITS } from "./limits";
import "./new-session.css";
import { OptionsForm } from "./options-form";
import { ANYWHERE, rootsOf, whereFields } from "./where";
import { WhereField } from "./where-field";

const words = strings.sessions.start;

export function NewSession({ subject }: { subject: string }) {
  const [, params] = useRoute("/session/:id");
  const machines = useCluster((known) => known.cluster?.machines);
  const likeliest = useBridge((known) => likeliestFolder(known.sessions, params?.id ?? "", [...known.folders, ...rootsOf(machines ?? [])]));
  const [written, setWritten] = useState<string | null>(null);
  const [prompt, setPrompt] = useState(subject);
  const [dirs, setDirs] = useState("");
  const [where, setWhere] = useState(ANYWHERE);
  const [limits, setLimits] = useState(NO_LIMITS);
  const [agent, setAgent] = useState("");
  const [choices, setChoices] = useState<Choices>(NO_CHOICE);
  const defaults = useDefaults();
  const [busy, setBusy] = useState(false);
  const [, go] = useLocation();
  const folder = written ?? likeliest;
  const inside = useInside(folder.trim());
  const ready = !busy && folder.trim() !== "" && !inside?.problem && isValid(limits);
  const start = async () => {
    if (!ready) return;
    setBusy(true);
    const add_dirs = dirs.split("\n").map((one) => one.trim()).filter(Boolean);
    const id = await startSession({ cwd: folder.trim(), ...(prompt.trim() && { prompt }), ...(add_dirs.length && { add_dirs }), ...(agent && { agent }), ...chosenFields(choices), ...(!agent && limitFields(limits)), ...whereFields(where) });
    setBusy(false);
    if (!id) return; // the refusal was shown; the form keeps its values
    if (subject) setDraft(START, ""); // it was written on the start page
    closeDialog();
    go(`/session/${id}`);
  };
  return (
    <Dialog title={words.title} onClose={closeDialog}>
      <form
        className="new-session"
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <FolderField folder={folder} change={setWritten} inside={inside} />
        <label className="field">
          <span>{words.first}</span>
          <textarea
            rows={3}
            value={prompt}
            placeholder={words.firstHint}
            onChange={(event) => setPrompt(event.target.value)}
            onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && void start()}
          />
        </label>
        <AgentField agent={agent} choose={(name) => (setAgent(name), setChoices({ ...NO_CHOICE, mode: choices.mode }))} />
        <WhereField folder={folder.trim()} where={where} change={setWhere} />
        <details className="new-session-more">
          <summary>{words.more}</summary>
          <OptionsForm choices={choices} change={setChoices} defaults={defaults} agent={agent} bypass />
          <label className="field">
            <span>{words.dirs}</span>
            <textarea rows={2} value={dirs} spellCheck={false} onChange={(event) => setDirs(event.target.value)} />
            <small className="soft">{words.dirsHelp}</small>
          </label>
          {!agent && <AdvancedForm limits={limits} change={setLimits} />}
        </details>
        <footer className="dialog-foot">
          <Button onClick={closeDialog}>{words.cancel}</Button>
          <Button kind="main" type="submit" disabled={!ready} keys="Ctrl+Enter">
            {busy ? words.starting : words.start}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
