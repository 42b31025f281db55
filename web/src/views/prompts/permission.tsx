// A permission prompt. Shows the complete input, which can be edited, and the rules that can be remembered.

import { useRef, useState } from "react";

import { object, text } from "../../protocol/wire";
import { strings } from "../../strings";
import { fallback } from "../../tools/fallback";
import { toolOf } from "../../tools/registry";
import { Button } from "../../ui/button";
import { visible } from "../../ui/visible";
import { useArmed } from "./armed";
import { Breadth } from "./breadth";
import { Deny } from "./deny";
import { EditInput, edited, type Edits } from "./edit-input";
import { Grants, chosenOf, type Ticks } from "./grants";
import { Look } from "./look";
import type { KindProps } from "./prompts";
import { Reasons } from "./reasons";
import { Risks } from "./risks";
import { useLetters } from "./letters";

const words = strings.prompts;

/** Fields of a request that has to be asked every time. */
const RESERVED = ["requires_user_interaction", "suppress_always_allow_rule", "server_policy_ask_only"];

export function Permission({ question, give, sending }: KindProps) {
  const { request } = question;
  const input = object(request["input"]);
  const [edits, setEdits] = useState<Edits | null>(null);
  const [ticks, setTicks] = useState<Ticks>({});
  const [telling, setTelling] = useState(false);
  const [remembering, setRemembering] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const { armed, unseen } = useArmed(`${question.id} ${question.hash} ${edits ? "edited" : ""}`, box);
  const Preview = toolOf(text(request["tool_name"])).Preview ?? fallback.Preview!;
  const changed = edits ? edited(input, edits) : { input: null, problem: "" };
  const session = question.suggestions.find((one) => one.destinations.includes("session"));
  const updates = chosenOf(question.suggestions, ticks);
  const ready = armed && !sending && !changed.problem;
  const allow = (granted = updates) => ready && give({ behavior: "allow", updates: granted, ...(changed.input && { input: changed.input }) });
  // Without a rule for the session, exactly this call is allowed; not where a policy reserves it or its input was changed.
  const mayRemember = !session && !changed.input && !RESERVED.some((name) => request[name] === true);
  const forSession = () => (session ? allow([{ index: session.index, destination: "session" }]) : mayRemember && ready && give({ behavior: "allow", remember: true }));
  const grants = session?.words ?? (mayRemember ? words.exactly : "");
  useLetters(box, sending, {
    y: () => allow(),
    s: forSession,
    n: () => give({ behavior: "deny" }),
    e: () => setEdits(edits ?? {}),
    r: () => setTelling(true),
  });
  const hint = changed.problem || (unseen ? words.lookFirst : "");
  return (
    <>
      <Risks risks={question.help.risks} edited={changed.input !== null} />
      <Look box={box} label={words.look}>
        {edits ? <EditInput input={input} edits={edits} onChange={setEdits} onClose={() => setEdits(null)} /> : <Preview input={input} call={undefined} help={question.help} />}
        <Reasons question={question} />
      </Look>
      <p className="prompt-hint small" role="status">{hint}</p>
      {telling ? (
        <Deny give={give} onBack={() => setTelling(false)} />
      ) : (
        <>
          {remembering && <Grants suggestions={question.suggestions} ticks={ticks} onChange={setTicks} />}
          <div className="prompt-buttons">
            <Button kind="main" title={words.allow} keys="y" disabled={!ready} onClick={() => allow()}>
              {changed.input ? words.allowEdited : updates.length ? words.allowTicked : words.allow}
            </Button>
            {grants && updates.length === 0 && (
              <Button title={words.sessionGrants(visible(grants, true))} keys="s" disabled={!ready} onClick={forSession}>
                {words.allowSession}
              </Button>
            )}
            {question.suggestions.length > 0 && <Button aria-expanded={remembering} onClick={() => setRemembering(!remembering)}>{words.remember}</Button>}
            <Button title={words.deny} keys="n, Esc" onClick={() => give({ behavior: "deny" })}>{words.deny}</Button>
            <Button kind="quiet" title={words.denyWhy} keys="r" onClick={() => setTelling(true)}>{words.denyWhy}</Button>
            {!edits && <Button kind="quiet" title={words.edit} keys="e" onClick={() => setEdits({})}>{words.edit}</Button>}
          </div>
          {grants && updates.length === 0 && <p className="small soft"><Breadth words={words.sessionGrants(grants)} /></p>}
        </>
      )}
    </>
  );
}
