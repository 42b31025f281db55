// Options of a session: model, permission mode, effort, thinking, output style. Used for one session and for the defaults.

import { useId } from "react";

import type { ModelTold } from "../../state/about";
import { useBridge, useMay } from "../../state/bridge";
import { useOffered, type Choices } from "../../state/choices";
import { strings } from "../../strings";
import { effortOptions, modeOptions, thinkingOptions, type Option } from "../settings/options";
import "./options-form.css";

const words = strings.sessions.start;
/** These modes allow nothing beyond the settings, so every device that may start sessions can choose them. */
const ASKING = ["default", "plan"];

interface Props {
  choices: Choices;
  change(choices: Choices): void;
  /** Offer to bypass permissions. Only for a single session, never as a default. */
  bypass?: boolean;
  /** The values used if nothing is chosen. */
  defaults?: Choices;
  /** The ACP agent of the session. It has its own models, and the other choices for the CLI do not apply to it. */
  agent?: string;
}

export function OptionsForm({ choices, change, bypass = false, defaults: given, agent = "" }: Props) {
  const defaults = agent ? undefined : given;
  const set = (name: keyof Choices) => (value: string) => change({ ...choices, [name]: value });
  const offered = useOffered(agent);
  const styles = [...new Set([...offered.outputStyles, choices.style].filter((one) => one && one !== "default"))];
  return (
    <div className="options-form">
      <ModeChoice value={choices.mode} fallback={given?.mode || "default"} choose={set("mode")} bypass={bypass} />
      <div className="options-row">
        {(!agent || offered.models.length > 0) && <ModelField value={choices.model} fallback={defaults?.model ?? ""} offered={offered.models} choose={set("model")} />}
        {!agent && <Select label={words.effort} value={choices.effort} choose={set("effort")} options={withDefault(effortOptions(undefined), defaults?.effort)} />}
        {!agent && <Select label={words.thinking} value={choices.thinking} choose={set("thinking")} options={withDefault(thinkingOptions(defaults?.thinking ? Number(defaults.thinking) : null), defaults?.thinking)} />}
        {!agent && styles.length > 0 && <Select label={words.style} value={choices.style} choose={set("style")} options={[{ value: "", name: named(words.styleDefault, defaults?.style) }, ...styles.map((name) => ({ value: name, name }))]} />}
      </div>
    </div>
  );
}

/** Adds the actual default to the name of the first option. */
const withDefault = (options: Option[], chosen: string | undefined): Option[] =>
  options.map((one) => (one.value || !chosen ? one : { ...one, name: named(words.modelDefault, options.find(({ value }) => value === chosen)?.name ?? chosen) }));

const named = (fallback: string, what: string | undefined): string => (what ? `${fallback} (${what})` : fallback);

function Select({ label, value, options, choose }: { label: string; value: string; options: readonly Option[]; choose(value: string): void }) {
  return (
    <label className="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => choose(event.target.value)}>
        {options.map((one) => (
          <option key={one.value} value={one.value}>
            {one.name}
          </option>
        ))}
      </select>
    </label>
  );
}

interface ModelProps {
  value: string;
  fallback: string;
  offered: readonly ModelTold[];
  choose(value: string): void;
}

/** A list if the CLI reported its models, otherwise a text field that suggests names used before. */
function ModelField({ value, fallback, offered, choose }: ModelProps) {
  const used = useBridge((known) => [...new Set([...known.sessions.values()].map((one) => one.model).filter(Boolean))].toSorted().join("\n"));
  const id = useId();
  if (offered.length > 0) {
    const more = offered.some((one) => one.value === value) || !value ? [] : [{ value, name: value }];
    const models = offered.filter((one) => one.value && one.value !== "default");
    return <Select label={words.model} value={value === "default" ? "" : value} choose={choose} options={[{ value: "", name: named(words.modelDefault, fallback) }, ...models, ...more]} />;
  }
  return (
    <label className="field">
      <span>{words.model}</span>
      <input list={id} value={value} placeholder={named(words.modelDefault, fallback)} maxLength={200} autoComplete="off" spellCheck={false} onChange={(event) => choose(event.target.value.trim())} />
      <datalist id={id}>
        {used.split("\n").map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </datalist>
    </label>
  );
}

function ModeChoice({ value, fallback, bypass, choose }: { value: string; fallback: string; bypass: boolean; choose(value: string): void }) {
  const mayApprove = useMay("approve");
  const name = useId();
  const chosen = value || fallback;
  return (
    <fieldset className="mode-choice">
      <legend>{words.mode}</legend>
      {modeOptions(bypass).map(({ value: mode, name: title, what: says }) => {
        const closed = !mayApprove && !ASKING.includes(mode);
        return (
          <label key={mode} className="mode-option">
            <input type="radio" name={name} checked={chosen === mode} disabled={closed} onChange={() => choose(mode)} />
            <strong>{title}</strong>
            <small className="soft">{closed ? `${says} (${words.needsApprove})` : says}</small>
          </label>
        );
      })}
    </fieldset>
  );
}
