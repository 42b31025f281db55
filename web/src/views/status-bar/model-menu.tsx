// The model, which can be changed at any time, also during a turn.

import { useState } from "react";

import { useAbout, useModel } from "../../state/about";
import { agentOf } from "../../state/agents";
import { command, useBridge, useMay } from "../../state/bridge";
import { useOffered } from "../../state/choices";
import type { Followed } from "../../state/followed";
import { openDialog } from "../../state/page";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Menu } from "../../ui/menu";

const words = strings.composer;

export function ModelMenu({ followed }: { followed: Followed }) {
  const model = useModel(followed);
  const agent = useBridge((bridge) => agentOf(bridge.sessions.get(followed.id)));
  const own = useAbout(followed).models;
  const others = useOffered(agent).models;
  // A new fork has not been told its models yet: those of the same agent's other sessions have the names.
  const models = own.length ? own : others;
  const demo = useBridge((bridge) => bridge.cli?.demo ?? false) && !agent;
  const mayPrompt = useMay("prompt");
  const [asking, setAsking] = useState(false);
  const set = (name: string | null) => void command("set_model", { session: followed.id, model: name });
  const known = models.filter((one) => one.value && one.value !== "default");
  const current = models.find((one) => one.value === model || one.resolved === model);
  const offered = known.map((one) => ({ id: one.value, label: one.name, help: one.description, chosen: one === current, pick: () => set(one.value) }));
  // Demo mode has one model, and refuses all others until a model is connected.
  const items = demo ? [...offered, { id: "\u0000connect", label: strings.connect.openMenu, chosen: false, pick: () => openDialog("connect") }] : [
    { id: "default", label: words.defaultModel, help: words.defaultModelHelp, chosen: model === "", pick: () => set(null) },
    ...offered,
    ...(model && !current ? [{ id: model, label: model, chosen: true, pick: () => set(model) }] : []),
    { id: "\u0000other", label: words.otherModel, chosen: false, pick: () => setAsking(true) },
  ];
  const shown = (current && current.value !== "default" ? current.name : model) || words.defaultModel;
  return (
    <>
      <Menu up label={`${words.model}: ${shown}`} title={words.chooseModel} button={<span className="one-line">{shown}</span>} items={items} disabled={!mayPrompt} />
      {asking && <OtherModel onClose={() => setAsking(false)} onUse={set} />}
    </>
  );
}

function OtherModel({ onClose, onUse }: { onClose(): void; onUse(name: string): void }) {
  const [name, setName] = useState("");
  const use = () => {
    if (!name.trim()) return;
    onUse(name.trim());
    onClose();
  };
  return (
    <Dialog title={words.chooseModel} onClose={onClose}>
      <form className="row" onSubmit={(event) => (event.preventDefault(), use())}>
        <input className="grow" aria-label={words.modelName} placeholder={words.modelName} value={name} onChange={(event) => setName(event.target.value)} ref={(field) => field?.setAttribute("autofocus", "")} />
        <Button kind="main" type="submit">{words.use}</Button>
      </form>
    </Dialog>
  );
}
