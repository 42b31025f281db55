// The end of a turn: outcome, cost and denied calls.

import { visible } from "../../ui/visible";
import { useParams } from "wouter";

import { own, text } from "../../protocol/wire";
import { command, useMay } from "../../state/bridge";
import type { Denial, TurnEnd } from "../../state/state";
import { strings } from "../../strings";
import { dollars, span } from "../../strings/figures";
import { hint } from "../../strings/told";
import { Button } from "../../ui/button";
import { VisibleText } from "../../ui/visible-text";
import { useDetails } from "./use-open";

/** Ended by the user. */
const STOPPED = ["aborted_streaming", "aborted_tools"];
/** Problems whose errors repeat the sentence. */
const TOLD = ["api_error", ...STOPPED];

export function EndView({ row }: { row: TurnEnd }) {
  const { problems, turnDone } = strings.conversation;
  const figures = [row.duration ? span(row.duration) : "", row.cost ? dollars(row.cost) : ""].filter(Boolean);
  return (
    <div className={STOPPED.includes(row.problem) ? "turn-end stopped" : row.problem ? "turn-end problem" : "turn-end"}>
      <p className="small">
        {row.problem ? (own(problems, row.problem) ?? visible(row.problem, true)) : turnDone}
        {figures.length > 0 && <span className="soft"> · {figures.join(" · ")}</span>}
      </p>
      {row.problem && !TOLD.includes(row.problem) && row.errors.map((error) => <p key={error} className="small soft"><VisibleText text={strings.conversation.sentence(error)} care="prose" /></p>)}
      {row.problem === "api_error" && hint(row.errors) && <p className="small">{hint(row.errors)}</p>}
      {row.problem === "crashed" && <GoOn />}
      {row.denials.length > 0 && <Denials row={row.key} denials={row.denials} />}
    </div>
  );
}

/** Ask a new process to continue the turn. */
function GoOn() {
  const { id } = useParams<{ id: string }>();
  const mayPrompt = useMay("prompt");
  const { goOn, goOnWords } = strings.conversation;
  if (!id || !mayPrompt) return null;
  return <Button onClick={() => command("send", { session: id, text: goOnWords })}>{goOn}</Button>;
}

function Denials({ row, denials }: { row: string; denials: Denial[] }) {
  return (
    <details className="small denials" {...useDetails(row)}>
      <summary>{strings.conversation.denials(denials.length)}</summary>
      <ul>
        {denials.map((denial, at) => (
          <li key={at}>
            <VisibleText text={denial.tool} /> <code><VisibleText text={text(denial.input["command"]) || text(denial.input["file_path"]) || JSON.stringify(denial.input)} /></code>
          </li>
        ))}
      </ul>
    </details>
  );
}
