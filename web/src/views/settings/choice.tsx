// One setting: its name, what can be chosen, what that means, and that it was changed. In: the values, what to do. Out: a labelled control.

import { useId, useState, type ReactNode } from "react";

import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import type { Option } from "./options";
import "./settings.css";

interface Props {
  label: string;
  value: string;
  options: Option[];
  /** Out: whether it was done. */
  onChoose(value: string): Promise<boolean>;
  /** Why it cannot be chosen now. */
  closed?: string;
  /** Any other value may be typed: the label of the field. */
  other?: string;
  /** All at once, each with what it means. */
  open?: boolean;
  numeric?: boolean;
  children?: ReactNode;
}

const OTHER = "\u0000other";

export function Choice(props: Props) {
  const { label, options, onChoose, closed = "", open = false, children } = props;
  const id = useId();
  const [said, setSaid] = useState("");
  // What was chosen stands there at once; where it is refused, what held before comes back.
  const [next, setNext] = useState<{ chosen: string; instead: string } | null>(null);
  const value = next && next.instead === props.value ? next.chosen : props.value;
  const [typing, setTyping] = useState(false);
  const known = options.some((one) => one.value === value) ? options : [...options, { value, name: value }];
  const choose = async (chosen: string) => {
    if (chosen === OTHER) return setTyping(true);
    setTyping(false);
    setSaid("");
    setNext({ chosen, instead: props.value });
    if (await onChoose(chosen)) setSaid(strings.panels.settings.done(options.find((one) => one.value === chosen)?.name ?? chosen));
    else setNext(null);
  };
  const what = known.find((one) => one.value === value)?.what;
  return (
    <div className="setting" role="group" aria-labelledby={`${id}-label`}>
      <h3 id={`${id}-label`}>{label}</h3>
      {open ? (
        <Radios name={id} value={value} options={known} disabled={closed !== ""} onChoose={choose} />
      ) : (
        <select aria-labelledby={`${id}-label`} value={typing ? OTHER : value} disabled={closed !== ""} onChange={(event) => void choose(event.target.value)}>
          {known.map((one) => (
            <option key={one.value} value={one.value}>{one.name}</option>
          ))}
          {props.other && <option value={OTHER}>{strings.panels.settings.other}</option>}
        </select>
      )}
      {typing && <Other label={props.other!} numeric={props.numeric ?? false} onChoose={choose} />}
      {!open && what && <p className="soft">{what}</p>}
      {closed && <p className="soft">{closed}</p>}
      {children}
      <p role="status" className="setting-said">
        {said && <><Icon name="check" /> {said}</>}
      </p>
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
      <Button type="submit" disabled={!fits}>{strings.panels.settings.set}</Button>
    </form>
  );
}
