// The pending questions of a session, docked above the composer one at a time. A new question takes the focus only if the user is not typing.

import { useEffect, useRef, useState, type ComponentType, type KeyboardEvent, type RefObject } from "react";

import { text, type Json } from "../../protocol/wire";
import { answeredHere } from "../../state/answered-here";
import { useMay } from "../../state/bridge";
import { useEscape } from "../../state/escape";
import type { Followed } from "../../state/followed";
import { isTyping } from "../../state/keys";
import { tell } from "../../state/notices";
import type { Question, Row } from "../../state/state";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Guarded } from "../../ui/guarded";
import { Icon } from "../../ui/icon";
import { useAnswer, type Give } from "./answer";
import { Asked } from "./asked";
import { Elicitation } from "./elicitation";
import { Permission } from "./permission";
import { Plan } from "./plan";
import "./prompts.css";
import { scrollBy } from "./scroll-keys";
import { stopTurn } from "../composer/send";
import { brief, titleOf } from "./title";

const words = strings.prompts;

export interface KindProps {
  question: Question;
  give: Give;
  sending: boolean;
}

const KINDS: Record<Question["kind"], ComponentType<KindProps>> = { permission: Permission, questions: Asked, plan: Plan, elicitation: Elicitation };

export function Prompts({ followed }: { followed: Followed }) {
  const questions = followed.use((shown) => shown.state.questions);
  const [chosen, setChosen] = useState("");
  useElsewhere(followed, questions);
  const at = Math.max(0, questions.findIndex((one) => one.id === chosen));
  const question = questions[at];
  if (!question) return null;
  const turn = (by: number) => setChosen(questions[(at + by + questions.length) % questions.length]!.id);
  return <Docked key={`${question.id} ${question.hash}`} session={followed.id} question={question} at={at} count={questions.length} turn={turn} />;
}

interface DockedProps {
  session: string;
  question: Question;
  at: number;
  count: number;
  turn(by: number): void;
}

function Docked({ session, question, at, count, turn }: DockedProps) {
  const [collapsed, setCollapsed] = useState(false);
  const { give, sending } = useAnswer(session, question);
  const mayApprove = useMay("approve");
  const mayPrompt = useMay("prompt");
  const box = useRef<HTMLElement>(null);
  useEscape("prompt", mayApprove, () => give({ behavior: "deny" }));
  useFocus(box);
  const Kind = KINDS[question.kind] ?? Permission;
  const title = titleOf(question);
  const press = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target === event.currentTarget && scrollBy(event.key, box.current?.querySelector<HTMLElement>(".prompt-look") ?? null)) return event.preventDefault();
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || count < 2 || isTyping(event.target)) return;
    event.preventDefault();
    turn(by);
  };
  return (
    <section ref={box} className={collapsed ? "prompts collapsed" : "prompts"} role="alertdialog" aria-label={title} tabIndex={-1} onKeyDown={press} data-question={question.kind}>
      <header className="prompt-head row">
        <span className="prompt-mark">
          <Icon name={question.kind === "permission" ? "shield" : question.kind === "plan" ? "plan" : "question"} />
          <span className="unseen">{words.label}</span>
        </span>
        <h2 className="grow">{title}</h2>
        {count > 1 && (
          <>
            <Button kind="quiet" aria-label={words.previous} title={words.previous} keys="←" onClick={() => turn(-1)}>
              <span className="turned"><Icon name="chevron" /></span>
            </Button>
            <span className="small soft" aria-live="polite">{words.of(at + 1, count)}</span>
            <Button kind="quiet" aria-label={words.next} title={words.next} keys="→" onClick={() => turn(1)}>
              <Icon name="chevron" />
            </Button>
          </>
        )}
        <span className="prompt-phone">
          {mayPrompt && !collapsed && <Button kind="quiet" onClick={() => stopTurn(session)}><Icon name="stop" /> {strings.composer.stop}</Button>}
          <Button kind="quiet" aria-expanded={!collapsed} onClick={() => setCollapsed(!collapsed)}>{collapsed ? words.expand : words.collapse}</Button>
        </span>
      </header>
      {question.agent && <p className="small soft">{words.asks(brief(question.agent))}</p>}
      {!mayApprove && <p className="prompt-hint small">{words.mayNot}</p>}
      <fieldset disabled={!mayApprove || sending} aria-label={title} className="prompt-body">
        <Guarded place={question.id} instead={<NotDrawn give={give} />}>
          <Kind question={question} give={give} sending={sending || !mayApprove} />
        </Guarded>
      </fieldset>
      <p className="unseen" role="status">{sending ? words.sending : ""}</p>
    </section>
  );
}

/** A question that cannot be drawn can only be denied. */
function NotDrawn({ give }: { give: Give }) {
  return (
    <>
      <p className="prompt-hint small">{words.notDrawn}</p>
      <div className="prompt-buttons">
        <Button keys="Esc" title={words.deny} onClick={() => give({ behavior: "deny" })}>{words.deny}</Button>
      </div>
    </>
  );
}

/** Whether the user is typing; then the focus stays. */
function writes(): boolean {
  const active = document.activeElement;
  if (active instanceof HTMLTextAreaElement || active instanceof HTMLInputElement) return active.value !== "" || !active.closest(".composer");
  return active?.closest("dialog, [role=menu], [role=alertdialog]") !== null && active !== null;
}

/** Focus a new question; when it closes, move the focus back to the message field. */
function useFocus(box: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const element = box.current;
    const phone = matchMedia("(pointer: coarse)").matches;
    if (!writes() || !document.hasFocus()) element?.focus({ preventScroll: true });
    return () => {
      const inside = element?.contains(document.activeElement) || document.activeElement === document.body;
      // On a phone, focusing the field opens the keyboard.
      if (inside && !phone) requestAnimationFrame(() => !writes() && focusNext());
    };
  }, [box]);
}

function focusNext(): void {
  const next = document.querySelector<HTMLElement>(".prompts") ?? document.querySelector<HTMLElement>(".composer textarea");
  next?.focus({ preventScroll: true });
}

/** Report questions that were closed without an answer from this browser. */
function useElsewhere(followed: Followed, questions: Question[]): void {
  const before = useRef(questions);
  useEffect(() => {
    const gone = before.current.filter((one) => !questions.includes(one) && !answeredHere.has(one.id));
    before.current = questions;
    for (const one of gone) {
      const facts = told(followed.use.getState().state.rows, one.id);
      if (facts?.["by"] !== undefined) tell(words.answeredOn(brief(text(facts["by"])), facts["behavior"] === "deny" && facts["kind"] === "permission"));
      else if (facts) tell(facts["interrupted"] ? words.interrupted : words.withdrawn);
    }
  }, [followed, questions]);
}

/** The facts of the notice about a closed question. */
function told(rows: readonly Row[], question: string): Json | undefined {
  for (const row of rows.slice(-20).toReversed()) {
    if (row.kind === "notice" && row.facts["question"] === question) return row.facts;
  }
  return undefined;
}
