// Checkboxes for the suggested rules: each described by the engine, with where it is stored.

import type { Chosen } from "../../protocol/messages";
import { own } from "../../protocol/wire";
import type { Suggestion } from "../../state/state";
import { strings } from "../../strings";
import { visible } from "../../ui/visible";
import { Breadth } from "./breadth";

const words = strings.prompts;

/** The destination by index of the suggestion; "" is not selected. */
export type Ticks = Record<number, string>;
type Destination = NonNullable<Chosen["destination"]>;

export const chosenOf = (suggestions: readonly Suggestion[], ticks: Ticks): Chosen[] =>
  suggestions.filter((one) => ticks[one.index]).map((one) => ({ index: one.index, destination: ticks[one.index] as Destination }));

/** The default destination: the session, which is the narrowest. */
const first = (one: Suggestion): string => (one.destinations.includes("session") ? "session" : (one.destinations[0] ?? "session"));

interface Props {
  suggestions: readonly Suggestion[];
  ticks: Ticks;
  onChange(ticks: Ticks): void;
}

export function Grants({ suggestions, ticks, onChange }: Props) {
  const set = (index: number, scope: string) => onChange({ ...ticks, [index]: scope });
  return (
    <section className="grants" aria-label={words.remember}>
      <p className="small soft">{words.rememberHelp}</p>
      <ul>
        {suggestions.map((one) => (
          <li key={one.index} className="row">
            <label className="grant grow">
              <input type="checkbox" checked={Boolean(ticks[one.index])} onChange={(event) => set(one.index, event.target.checked ? first(one) : "")} />
              <span><Breadth words={one.words} /></span>
            </label>
            <select aria-label={words.scopeOf(visible(one.words, true))} value={ticks[one.index] || first(one)} onChange={(event) => set(one.index, event.target.value)}>
              {one.destinations.map((name) => (
                <option key={name} value={name}>{own(words.scopes, name) ?? name}</option>
              ))}
            </select>
          </li>
        ))}
      </ul>
    </section>
  );
}
