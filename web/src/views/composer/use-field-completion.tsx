// Suggestions for the message field: the list, its keys, and the ARIA attributes of the field.

import { useId, useLayoutEffect, useRef, useState, type KeyboardEvent, type RefObject } from "react";

import { setDraft } from "../../state/drafts";
import { useEscape } from "../../state/escape";
import type { Followed } from "../../state/followed";
import { strings } from "../../strings";
import { Listbox, optionId, stepped } from "../../ui/listbox";
import { completed } from "./completion";
import { useCompletion } from "./use-completion";

export function useFieldCompletion(followed: Followed, written: string, field: RefObject<HTMLTextAreaElement | null>) {
  const id = useId();
  const [caret, setCaret] = useState(-1);
  const [active, setActive] = useState(0);
  const [shut, setShut] = useState("");
  const wanted = useRef(-1);
  const { token, options } = useCompletion(followed, written, caret);
  const at = Math.min(active, options.length - 1);
  const open = token !== null && options.length > 0 && shut !== `${token.from}${token.kind}`;
  useEscape("menu", open, () => setShut(`${token?.from}${token?.kind}`));
  useLayoutEffect(() => {
    if (wanted.current < 0) return;
    field.current?.focus();
    field.current?.setSelectionRange(wanted.current, wanted.current);
    wanted.current = -1;
  }, [field, written]);
  const look = (where: number) => {
    if (where === caret) return;
    setCaret(where);
    setActive(0);
    if (!token) setShut("");
  };
  const place = (where: number) => {
    wanted.current = where;
    setCaret(where);
  };
  const choose = (which: number) => {
    const option = options[which];
    if (!token || !option) return;
    const next = completed(written, token, option.value);
    setDraft(followed.id, next.text);
    place(next.caret);
    setActive(0);
  };
  const press = (event: KeyboardEvent): boolean => {
    if (!open) return false;
    const next = stepped(event.key, at, options.length);
    // Enter sends a command that is typed in full instead of completing it.
    const whole = token.kind === "slash" && options.some((one) => one.value === written.trim());
    const take = (event.key === "Enter" && !event.shiftKey && !whole) || event.key === "Tab";
    if (next === undefined && !take) return false;
    event.preventDefault();
    if (next === undefined) choose(at);
    else setActive(next);
    return true;
  };
  const list = open && (
    <div className="completions">
      <Listbox id={id} label={strings.composer.completions} options={options} active={at} onActive={setActive} onChoose={choose} />
    </div>
  );
  const aria = open ? { "aria-controls": id, "aria-activedescendant": optionId(id, at) } : {};
  return { list, press, look, place, aria, leave: () => setCaret(-1) };
}
