// The advanced part of the new-session form: limits on turns and cost, and a plugin folder.

import { useId } from "react";

import { useMay } from "../../state/bridge";
import { strings } from "../../strings";
import { limitErrors, type Limits } from "./limits";

const words = strings.sessions.start;

export function AdvancedForm({ limits, change }: { limits: Limits; change(limits: Limits): void }) {
  const mayAdmin = useMay("admin"); // plugins run code with the user's rights
  const errors = limitErrors(limits);
  const field = (name: keyof Limits) => ({ value: limits[name], error: errors[name], change: (value: string) => change({ ...limits, [name]: value }) });
  return (
    <details className="new-session-more">
      <summary>{words.advanced}</summary>
      <div className="options-row">
        <Field label={words.turns} help={words.turnsHelp} mode="numeric" {...field("turns")} />
        <Field label={words.budget} help={words.budgetHelp} mode="decimal" {...field("budget")} />
      </div>
      {mayAdmin && <Field label={words.plugin} help={words.pluginHelp} mode="text" {...field("plugin")} />}
    </details>
  );
}

interface FieldProps {
  label: string;
  help: string;
  mode: "numeric" | "decimal" | "text";
  value: string;
  error: string;
  change(value: string): void;
}

function Field({ label, help, mode, value, error, change }: FieldProps) {
  const id = useId();
  return (
    <label className="field">
      <span>{label}</span>
      <input value={value} inputMode={mode} autoComplete="off" spellCheck={false} aria-invalid={error !== ""} aria-describedby={id} onChange={(event) => change(event.target.value)} />
      <small id={id} className={error ? "field-error" : "soft"} role={error ? "alert" : undefined}>{error || help}</small>
    </label>
  );
}
