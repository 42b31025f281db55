// A plan, with the choices to approve it or keep planning.

import { useRef, useState } from "react";

import { object, text } from "../../protocol/wire";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Markdown } from "../../ui/markdown";
import { visible } from "../../ui/visible";
import { useArmed } from "./armed";
import { Look } from "./look";
import type { KindProps } from "./prompts";
import { useLetters } from "./letters";

const words = strings.prompts;

export function Plan({ question, give, sending }: KindProps) {
  const [change, setChange] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const { armed, unseen } = useArmed(`${question.id} ${question.hash}`, box);
  const input = object(question.request["input"]);
  const plan = text(input["plan"]);
  const file = text(input["planFilePath"]) || text(input["filePath"]) || text(input["file_path"]);
  const ready = armed && !sending;
  const go = (mode: "acceptEdits" | "default") => ready && give({ behavior: "allow", mode });
  const keep = () => give({ behavior: "deny", reason: change.trim() });
  useLetters(box, sending, { y: () => go("default"), s: () => go("acceptEdits"), n: keep });
  return (
    <>
      <Look box={box} label={words.preview} className="plan-text">
        {plan ? <Markdown text={visible(plan)} fold={false} /> : <p>{file ? words.planIn(visible(file, true)) : words.noPlan}</p>}
        {plan && file && <p className="small soft">{words.planIn(visible(file, true))}</p>}
      </Look>
      <p className="prompt-hint small" role="status">{unseen ? words.lookFirst : ""}</p>
      <label className="prompt-field">
        <span className="small">{words.planChange}</span>
        <textarea
          rows={1}
          value={change}
          placeholder={words.planChangeHint}
          onChange={(event) => setChange(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing || !change.trim()) return;
            event.preventDefault();
            keep();
          }}
        />
      </label>
      <div className="prompt-buttons">
        <Button kind={change.trim() ? "plain" : "main"} keys="s" title={words.planAccept} disabled={!ready} onClick={() => go("acceptEdits")}>{words.planAccept}</Button>
        <Button keys="y" title={words.planAsk} disabled={!ready} onClick={() => go("default")}>{words.planAsk}</Button>
        <Button kind={change.trim() ? "main" : "plain"} keys="n, Esc" title={words.planKeep} onClick={keep}>{words.planKeep}</Button>
      </div>
      <p className="small soft">{words.planAcceptHelp}</p>
    </>
  );
}
