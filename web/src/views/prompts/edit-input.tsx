// Edits the input of a tool before it runs. Fields that are not strings are edited as JSON.

import { useEffect, useRef } from "react";

import { own, type Json } from "../../protocol/wire";
import { useEscape } from "../../state/escape";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { isDisguised } from "../../ui/visible";
import { VisibleText } from "../../ui/visible-text";
import { brief } from "./title";

const words = strings.prompts;

/** The current text, by field. */
export type Edits = Record<string, string>;

const shownAs = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

/** The edited input; null if nothing changed. Pure. */
export function edited(input: Json, edits: Edits): { input: Json | null; problem: string } {
  const changed = Object.entries(edits).filter(([name, value]) => Object.hasOwn(input, name) && value !== shownAs(input[name]));
  const next: Json = { ...input };
  for (const [name, value] of changed) {
    if (typeof input[name] === "string") {
      next[name] = value;
      continue;
    }
    try {
      next[name] = JSON.parse(value) as unknown;
    } catch {
      return { input: null, problem: words.badJson(name) };
    }
  }
  return { input: changed.length ? next : null, problem: "" };
}

interface Props {
  input: Json;
  edits: Edits;
  onChange(edits: Edits): void;
  onClose(): void;
}

export function EditInput({ input, edits, onChange, onClose }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const close = () => {
    const prompt = box.current?.closest<HTMLElement>("[role=alertdialog]");
    onClose();
    prompt?.focus();
  };
  useEscape("menu", true, close);
  useEffect(() => box.current?.querySelector("textarea")?.focus(), []);
  return (
    <div ref={box} className="edit-input">
      {Object.entries(input).map(([name, value]) => (
        <label key={name} className="prompt-field">
          <span className="small">{typeof value === "string" ? words.field(brief(name)) : words.asJson(brief(name))}</span>
          <textarea className="code" spellCheck={false} autoCapitalize="off" rows={1} value={own(edits, name) ?? shownAs(value)} onChange={(event) => onChange({ ...edits, [name]: event.target.value })} />
          <Disguise text={own(edits, name) ?? shownAs(value)} />
        </label>
      ))}
      <div>
        <Button kind="quiet" keys="Esc" onClick={close}>{words.undo}</Button>
      </div>
    </div>
  );
}

/** A text field cannot mark deceptive characters, so they are spelled out below it. */
function Disguise({ text }: { text: string }) {
  if (!isDisguised(text)) return null;
  return (
    <pre className="small">
      <VisibleText text={text} />
    </pre>
  );
}
