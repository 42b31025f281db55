// Denies with a reason for the model, and optionally stops the turn.

import { useEffect, useRef, useState } from "react";

import { useEscape } from "../../state/escape";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import type { Give } from "./answer";

const words = strings.prompts;

interface Props {
  give: Give;
  onBack(): void;
}

export function Deny({ give, onBack }: Props) {
  const [reason, setReason] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const prompt = useRef<HTMLElement | null>(null);
  const back = () => {
    onBack();
    prompt.current?.focus();
  };
  useEscape("menu", true, back);
  useEffect(() => {
    prompt.current = field.current?.closest<HTMLElement>("[role=alertdialog]") ?? null;
    field.current?.focus();
  }, []);
  const say = (interrupt: boolean) => give({ behavior: "deny", reason: reason.trim(), interrupt });
  return (
    <>
      <label className="prompt-field">
        <span className="small">{words.reason}</span>
        <textarea
          ref={field}
          value={reason}
          rows={2}
          placeholder={words.reasonHint}
          onChange={(event) => setReason(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            say(false);
          }}
        />
      </label>
      <div className="prompt-buttons">
        <Button kind="main" keys="Enter" onClick={() => say(false)}>{words.sendReason}</Button>
        <Button kind="danger" onClick={() => say(true)}>{words.denyAndStop}</Button>
        <Button kind="quiet" keys="Esc" onClick={back}>{words.back}</Button>
      </div>
    </>
  );
}
