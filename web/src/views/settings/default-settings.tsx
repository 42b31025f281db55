// The defaults of new sessions, stored by the server for all devices.

import { useEffect, useState } from "react";

import { reasonOf } from "../../protocol/api";
import { useMay } from "../../state/bridge";
import { loadDefaults, saveDefaults, useOffered, type Choices } from "../../state/choices";
import { strings } from "../../strings";
import { Choice } from "./choice";
import { effortOptions, modelOf, modelOptions, modeOptions, thinkingOptions } from "./options";

const words = strings.panels.settings;

export function DefaultSettings() {
  const mayPrompt = useMay("prompt");
  const mayApprove = useMay("approve");
  const [chosen, change, problem] = useDefaults(mayPrompt);
  const offered = useOffered();
  if (!mayPrompt) return <p className="soft">{strings.panels.needsScope("prompt")}</p>;
  if (problem) return <p className="soft">{words.unavailable}: {problem}</p>;
  if (!chosen) return <p className="soft">{strings.panels.loading}</p>;
  const own = { value: "", name: words.cliDefault };
  const models = modelOptions(offered.models).filter((one) => one.value !== "" && one.value !== "default");
  const tokens = chosen.thinking === "" ? null : Number(chosen.thinking);
  return (
    <>
      <p className="soft">{words.defaultsMeaning}</p>
      <Choice label={words.model} value={chosen.model} options={[own, ...models]} other={words.modelOther} onChoose={(model) => change({ model })} />
      <Choice label={words.mode} value={chosen.mode || "default"} options={modeOptions(false)} open closed={mayApprove ? "" : strings.panels.needsScope("approve")} onChoose={(mode) => change({ mode: mode === "default" ? "" : mode })} />
      <Choice label={words.effort} value={chosen.effort} options={effortOptions(modelOf(offered.models, chosen.model))} onChoose={(effort) => change({ effort })} />
      <Choice label={words.thinking} value={chosen.thinking} options={thinkingOptions(tokens)} other={words.thinkingOther} numeric onChoose={(thinking) => change({ thinking })} />
      <Choice label={words.style} value={chosen.style} options={[own, ...offered.outputStyles.map((name) => ({ value: name, name }))]} other={words.style} onChoose={(style) => change({ style })} />
    </>
  );
}

function useDefaults(allowed: boolean): [Choices | null, (fields: Partial<Choices>) => Promise<void>, string] {
  const [chosen, setChosen] = useState<Choices | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    if (!allowed) return;
    loadDefaults().then(setChosen, (error: unknown) => setProblem(reasonOf(error)));
  }, [allowed]);
  const change = async (fields: Partial<Choices>) => {
    if (chosen) setChosen(await saveDefaults({ ...chosen, ...fields }));
  };
  return [chosen, change, problem];
}
