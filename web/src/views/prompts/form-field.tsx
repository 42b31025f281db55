// One field of an MCP server's form.

import { useId } from "react";

import { strings } from "../../strings";
import { visible } from "../../ui/visible";
import type { Field } from "./form-rules";

const words = strings.prompts;
const TYPES: Record<string, string> = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };

interface Props {
  field: Field;
  value: string | boolean | string[];
  problem: string | undefined;
  onChange(value: string | boolean | string[]): void;
}

export function FormField({ field, value, problem, onChange }: Props) {
  const id = useId();
  const label = visible(field.label, true);
  const told = problem ? `${id}-problem` : undefined;
  const shared = { id, "aria-required": field.required, "aria-invalid": problem ? true : undefined, "aria-describedby": told };
  return (
    <div className="prompt-field">
      {field.kind !== "boolean" && (
        <label htmlFor={id} className="small">
          {label} {field.required && <span className="soft">({words.required})</span>}
        </label>
      )}
      {field.kind === "boolean" && (
        <label className="grant">
          <input {...shared} type="checkbox" checked={value === true} onChange={(event) => onChange(event.target.checked)} />
          <span>{label}</span>
        </label>
      )}
      {field.kind === "choice" && (
        <select {...shared} value={String(value)} onChange={(event) => onChange(event.target.value)}>
          <option value="">{words.choose}</option>
          {field.choices.map((one) => (
            <option key={one.value} value={one.value}>{visible(one.label, true)}</option>
          ))}
        </select>
      )}
      {field.kind === "choices" && (
        <div id={id} role="group" aria-label={label}>
          {field.choices.map((one) => (
            <label key={one.value} className="grant">
              <input type="checkbox" checked={Array.isArray(value) && value.includes(one.value)} onChange={(event) => onChange(toggled(value, one.value, event.target.checked))} />
              <span>{visible(one.label, true)}</span>
            </label>
          ))}
        </div>
      )}
      {(field.kind === "text" || field.kind === "number") && (
        <input {...shared} type={TYPES[field.format] ?? "text"} inputMode={field.kind === "number" ? "decimal" : undefined} value={String(value)} onChange={(event) => onChange(event.target.value)} autoComplete="off" />
      )}
      {field.help && <p className="small soft">{visible(field.help)}</p>}
      {problem && <p id={told} className="prompt-hint small" role="alert">{problem}</p>}
    </div>
  );
}

function toggled(value: string | boolean | string[], one: string, on: boolean): string[] {
  const all = Array.isArray(value) ? value : [];
  return on ? [...all, one] : all.filter((other) => other !== one);
}
