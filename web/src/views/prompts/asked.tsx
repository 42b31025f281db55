// Questions of the model with options. The answers are sent, with notes, once every question has one.

import { useState, type KeyboardEvent } from "react";

import { object, objects } from "../../protocol/wire";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { visible } from "../../ui/visible";
import { AskedOne } from "./asked-one";
import { answersOf, missing, readAsked, type Picked } from "./asked-rules";
import type { KindProps } from "./prompts";
import { brief } from "./title";

const words = strings.prompts;

export function Asked({ question, give, sending }: KindProps) {
  const all = readAsked(objects(object(question.request["input"])["questions"]));
  const [picked, setPicked] = useState<Record<string, Picked>>({});
  const [tried, setTried] = useState(false);
  const [tab, setTab] = useState(0);
  const left = missing(all, picked);
  const send = () => {
    setTried(true);
    const open = all.findIndex((one) => left.includes(one));
    if (open >= 0) return setTab(open);
    const { answers, notes } = answersOf(all, picked);
    return give({ behavior: "allow", answers, notes });
  };
  const shown = all[Math.min(tab, all.length - 1)];
  const onPick = (one: Picked) => shown && setPicked({ ...picked, [shown.question]: one });
  const last = tab >= all.length - 1;
  /** Enter in a field or on an option: go to the next question, or send. */
  const enter = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.nativeEvent.isComposing || !(event.target instanceof HTMLInputElement)) return;
    event.preventDefault();
    if (last || left.length === 0) send();
    else setTab(tab + 1);
  };
  return (
    <form className="asked" onSubmit={(event) => event.preventDefault()} onKeyDown={enter}>
      {all.length > 1 && (
        <div className="asked-tabs" role="tablist" aria-label={words.questions(all.length)}>
          {all.map((one, at) => (
            <button key={one.question} type="button" role="tab" className="asked-tab" aria-selected={at === tab} tabIndex={at === tab ? 0 : -1} onClick={() => setTab(at)} onKeyDown={(event) => turn(event, tab, all.length, setTab)}>
              {visible(one.header, true)}
              {!left.includes(one) && <span aria-hidden="true"> ✓</span>}
            </button>
          ))}
        </div>
      )}
      <div className="prompt-look" role={all.length > 1 ? "tabpanel" : "group"} aria-label={shown ? visible(shown.header || shown.question, true) : words.question}>
        {shown && <AskedOne key={shown.question} asked={shown} picked={picked[shown.question]} onPick={onPick} />}
      </div>
      <p className="prompt-hint small" role="status">{tried && left.length > 0 ? words.missing(left.map((one) => brief(one.header || one.question))) : ""}</p>
      <div className="prompt-buttons">
        {!last && <Button kind={left.length ? "main" : "plain"} type="button" onClick={() => setTab(tab + 1)}>{words.nextQuestion}</Button>}
        <Button kind={last || left.length === 0 ? "main" : "plain"} type="button" keys="Enter" title={words.send} disabled={sending} onClick={send}>{words.send}</Button>
        <Button kind="quiet" keys="Esc" title={words.skip} onClick={() => give({ behavior: "deny" })}>{words.skip}</Button>
      </div>
    </form>
  );
}

function turn(event: KeyboardEvent, at: number, count: number, to: (at: number) => void): void {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!by) return;
  event.preventDefault();
  event.stopPropagation(); // moves among the tabs, not among the prompts
  const next = (at + by + count) % count;
  to(next);
  (event.currentTarget.parentElement?.children[next] as HTMLElement | undefined)?.focus();
}
