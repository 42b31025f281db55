// The command palette: fuzzy search over actions, sessions and commands of the CLI.

import { useId, useMemo, useState, type KeyboardEvent } from "react";

import { useAbout, type CommandTold } from "../../state/about";
import { useBridge } from "../../state/bridge";
import { setDraft } from "../../state/drafts";
import type { Followed } from "../../state/followed";
import { BINDINGS, keyNames, type Group } from "../../state/keys";
import { closeDialog } from "../../state/page";
import { titleOf } from "../../state/session-actions";
import { strings } from "../../strings";
import { Dialog } from "../../ui/dialog";
import { Listbox, optionId, stepped, type Option } from "../../ui/listbox";
import { best } from "../../ui/fuzzy";
import { inOrder } from "../sessions/session-order";
import { ACTIONS, IN_SESSION, type Place } from "./actions";
import "./keys.css";

const words = strings.keys;
const NO_COMMANDS: CommandTold[] = [];
/** What is wanted most comes first, before anything is typed. */
const ORDER: readonly Group[] = ["sessions", "panels", "session", "view"];

interface Entry extends Option {
  run(): void;
}

export function Palette({ place }: { place: Place }) {
  return place.followed ? <InSession place={place} followed={place.followed} /> : <Choosing place={place} commands={NO_COMMANDS} />;
}

function InSession({ place, followed }: { place: Place; followed: Followed }) {
  const about = useAbout(followed);
  return <Choosing place={place} commands={about.commands} />;
}

function Choosing({ place, commands }: { place: Place; commands: CommandTold[] }) {
  const id = useId();
  const [typed, setTyped] = useState("");
  const [active, setActive] = useState(0);
  const all = useEntries(place, commands);
  const found = useMemo(() => best(typed, all, (one) => [one.name, one.detail ?? ""]), [typed, all]);
  const at = Math.min(active, found.length - 1);
  const choose = (which: number) => {
    const entry = found[which];
    if (!entry) return;
    closeDialog();
    // After the dialog has returned the focus.
    requestAnimationFrame(() => entry.run());
  };
  const press = (event: KeyboardEvent) => {
    const next = stepped(event.key, at, found.length);
    if (next === undefined && event.key !== "Enter") return;
    event.preventDefault();
    if (next === undefined) choose(at);
    else setActive(next);
  };
  return (
    <Dialog title={words.palette} onClose={closeDialog}>
      <input
        className="palette-field"
        role="combobox"
        aria-label={words.paletteHint}
        placeholder={words.paletteHint}
        aria-expanded="true"
        aria-autocomplete="list"
        aria-controls={id}
        aria-activedescendant={found.length ? optionId(id, at) : undefined}
        value={typed}
        onChange={(event) => (setTyped(event.target.value), setActive(0))}
        onKeyDown={press}
        ref={focusIt}
      />
      <Listbox id={id} label={words.palette} options={found} active={at} onActive={setActive} onChoose={choose} />
      {found.length === 0 && <p className="small soft" role="status">{words.nothing}</p>}
    </Dialog>
  );
}

/** A dialog focuses the element with this attribute when it opens. */
const focusIt = (field: HTMLInputElement | null): void => field?.setAttribute("autofocus", "");

function useEntries(place: Place, commands: CommandTold[]): Entry[] {
  const sessions = useBridge((known) => known.sessions);
  return useMemo(() => {
    const offered = BINDINGS.filter((one) => one.global && one.id !== "palette" && (place.followed || !IN_SESSION.has(one.id)));
    const actions = offered.toSorted((a, b) => ORDER.indexOf(a.group) - ORDER.indexOf(b.group)).map((one) => ({
      id: `a${one.id}`,
      name: words.labels[one.id] ?? one.id,
      detail: "",
      end: one.keys[0] ? <kbd>{keyNames(one.keys[0]).join("+")}</kbd> : undefined,
      run: () => ACTIONS[one.id]?.(place),
    }));
    const others = inOrder(sessions.values()).map((one) => ({ id: `s${one.id}`, name: titleOf(one), detail: one.cwd, end: words.kinds["session"], run: () => place.go(`/session/${one.id}`) }));
    const slash = commands.map((one) => ({ id: `c${one.name}`, name: `/${one.name}`, detail: one.description, end: words.kinds["slash"], code: true, run: () => write(place, one.name) }));
    return [...actions, ...others, ...slash];
  }, [place, commands, sessions]);
}

function write(place: Place, name: string): void {
  if (!place.followed) return;
  setDraft(place.followed.id, `/${name} `);
  ACTIONS["focus"]?.(place);
}
