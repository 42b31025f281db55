// One setting as a labelled control. The new value is shown only after the server acknowledged it; a refusal is shown below the control.

import { useId, useState, type ReactNode } from "react";

import { reasonOf } from "../../protocol/api";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import { visible } from "../../ui/visible";
import type { Option } from "./options";
import "./settings.css";

interface Props {
  label: string;
  value: string;
  options: Option[];
  /** Resolves when the change is in effect, rejects with the reason when it is refused. */
  onChoose(value: string): Promise<unknown>;
  /** Why it cannot be changed now. */
  closed?: string;
  /** The label of a field for values that are not listed. */
  other?: string;
  /** Radio buttons with a description each, instead of a list. */
  open?: boolean;
  numeric?: boolean;
  children?: ReactNode;
}

const OTHER = "\u0000other";
const words = strings.panels.settings;

type Progress = { kind: "changing" | "done"; what: string } | { kind: "failed"; what: string; why: string };

export function Choice(props: Props) {
  const { label, options, onChoose, closed = "", open = false, children } = props;
  const id = useId();
  const [progress, setProgress] = useState<Progress | null>(null);
  // An acknowledged value, until the session reports it.
  const [next, setNext] = useState<{ chosen: string; instead: string } | null>(null);
  if (next && next.instead !== props.value) setNext(null);
  const value = next?.instead === props.value ? next.chosen : props.value;
  const [typing, setTyping] = useState(false);
  const known = options.some((one) => one.value === value) ? options : [...options, { value, name: value }];
  const disabled = closed !== "";
  const busy = progress?.kind === "changing";
  const choose = async (chosen: string) => {
    if (busy) return; // disabling the control instead would take the focus from a keyboard user
    if (chosen === OTHER) return setTyping(true);
    const what = options.find((one) => one.value === chosen)?.name ?? chosen;
    setTyping(false);
    setProgress({ kind: "changing", what });
    try {
      await onChoose(chosen);
      setNext({ chosen, instead: props.value });
      setProgress({ kind: "done", what });
    } catch (error) {
      setProgress({ kind: "failed", what, why: reasonOf(error) });
    }
  };
  const what = known.find((one) => one.value === value)?.what;
  return (
    <div className="setting" role="group" aria-labelledby={`${id}-label`} aria-busy={busy}>
      <h3 id={`${id}-label`}>{label}</h3>
      {open ? (
        <Radios name={id} value={value} options={known} disabled={disabled} onChoose={choose} />
      ) : (
        <select aria-labelledby={`${id}-label`} value={typing ? OTHER : value} disabled={disabled} onChange={(event) => void choose(event.target.value)}>
          {known.map((one) => (
            <option key={one.value} value={one.value}>{one.name}</option>
          ))}
          {props.other && <option value={OTHER}>{words.other}</option>}
        </select>
      )}
      {typing && <Other label={props.other!} numeric={props.numeric ?? false} onChoose={choose} />}
      {!open && what && <p className="soft">{what}</p>}
      {closed && <p className="soft">{closed}</p>}
      {children}
      <p role="status" className="setting-said">
        {progress?.kind === "changing" && words.changing(progress.what)}
        {progress?.kind === "done" && <><Icon name="check" /> {words.done(progress.what)}</>}
      </p>
      {progress?.kind === "failed" && <p role="alert" className="panel-problem">{visible(words.failed(progress.what, progress.why))}</p>}
    </div>
  );
}

function Radios({ name, value, options, disabled, onChoose }: { name: string; value: string; options: Option[]; disabled: boolean; onChoose(value: string): void }) {
  return (
    <div className="radios">
      {options.map((one) => (
        <label key={one.value} className="radio">
          <input type="radio" name={name} value={one.value} checked={one.value === value} disabled={disabled} onChange={() => onChoose(one.value)} />
          <span>
            <span>{one.name}</span>
            {one.what && <span className="soft radio-what">{one.what}</span>}
          </span>
        </label>
      ))}
    </div>
  );
}

function Other({ label, numeric, onChoose }: { label: string; numeric: boolean; onChoose(value: string): void }) {
  const [typed, setTyped] = useState("");
  const fits = numeric ? /^\d{1,7}$/.test(typed.trim()) : /^\S{1,200}$/.test(typed.trim());
  return (
    <form className="row" onSubmit={(event) => (event.preventDefault(), fits && onChoose(typed.trim()))}>
      <input className="grow" aria-label={label} placeholder={label} value={typed} inputMode={numeric ? "numeric" : "text"} onChange={(event) => setTyped(event.target.value)} />
      <Button type="submit" disabled={!fits}>{words.set}</Button>
    </form>
  );
}
