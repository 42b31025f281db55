// The cost of the session and its last turn; expanded, the cost per model and the time taken.

import { useEffect, useId, useRef, useState } from "react";

import { number } from "../../protocol/wire";
import { useEscape } from "../../state/escape";
import type { Followed } from "../../state/followed";
import type { Cost } from "../../state/state";
import { strings } from "../../strings";
import { dollars, short, span } from "../../strings/figures";

const words = strings.panels.statusBar;

export function CostButton({ followed }: { followed: Followed }) {
  const cost = followed.use((shown) => shown.state.cost);
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLSpanElement>(null);
  const id = useId();
  useEscape("menu", open, () => (setOpen(false), box.current?.querySelector("button")?.focus()));
  useEffect(() => {
    if (!open) return undefined;
    const leave = (event: Event) => box.current?.contains(event.target as Node) || setOpen(false);
    document.addEventListener("pointerdown", leave);
    document.addEventListener("focusin", leave);
    return () => {
      document.removeEventListener("pointerdown", leave);
      document.removeEventListener("focusin", leave);
    };
  }, [open]);
  if (!cost.duration && !cost.total) return null;
  return (
    <span ref={box} className="cost-box">
      <button type="button" className="status-part" aria-expanded={open} aria-controls={id} title={words.costTip} onClick={() => setOpen(!open)}>
        <span className="unseen">{words.cost} </span>
        {dollars(cost.total)}
        {cost.turn > 0 && <span className="soft status-extra"> ({words.lastTurn(dollars(cost.turn))})</span>}
        <span className="soft status-extra"> · {span(cost.duration)}</span>
      </button>
      {open && <CostTable id={id} cost={cost} />}
    </span>
  );
}

function CostTable({ id, cost }: { id: string; cost: Cost }) {
  const models = Object.entries(cost.models).toSorted(([, a], [, b]) => number(b.costUSD) - number(a.costUSD));
  const { columns } = words;
  return (
    <div id={id} className="cost-table" role="region" aria-label={words.cost}>
      <table className="panel-table">
        <tbody>
          <Row name={words.total} figure={dollars(cost.total)} />
          <Row name={words.turn} figure={dollars(cost.turn)} />
          <Row name={words.durations} figure={span(cost.duration)} />
        </tbody>
      </table>
      {models.length > 0 && (
        <table className="panel-table" aria-label={words.byModel}>
          <thead>
            <tr>
              <th scope="col">{columns.model}</th>
              {(["input", "output", "cache", "written", "cost"] as const).map((name) => <th key={name} scope="col" className="figure">{columns[name]}</th>)}
            </tr>
          </thead>
          <tbody>
            {models.map(([name, used]) => (
              <tr key={name}>
                <th scope="row"><code>{name}</code></th>
                <td className="figure">{short(number(used.inputTokens))}</td>
                <td className="figure">{short(number(used.outputTokens))}</td>
                <td className="figure">{short(number(used.cacheReadInputTokens))}</td>
                <td className="figure">{short(number(used.cacheCreationInputTokens))}</td>
                <td className="figure">{dollars(number(used.costUSD))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p className="soft">{words.estimate}</p>
    </div>
  );
}

function Row({ name, figure }: { name: string; figure: string }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td className="figure">{figure}</td>
    </tr>
  );
}
