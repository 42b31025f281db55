// How full the context is, what fills it, and when it was compacted.

import { useEffect, useState } from "react";

import { number, own, text } from "../../protocol/wire";
import { command, socket, useMay } from "../../state/bridge";
import type { Followed } from "../../state/followed";
import { tell } from "../../state/notices";
import type { Context, Notice, Row } from "../../state/state";
import { strings } from "../../strings";
import { clock, percent, portion, whole } from "../../strings/figures";
import { Button } from "../../ui/button";
import { FULL, Gauge, SHADES } from "../../ui/gauge";
import { visible } from "../../ui/visible";
import "./context-panel.css";
import { usageOf, type ContextUsage } from "./context-usage";

const words = strings.panels.context;

export function ContextPanel({ followed }: { followed: Followed }) {
  const known = followed.use((shown) => shown.state.context);
  const { usage: structured, problem } = useUsage(followed);
  const usage = structured?.parts.length ? structured : (printed(known) ?? structured);
  const total = usage?.total || known.total;
  const used = Math.max(usage?.used ?? 0, known.used); // the breakdown is an estimate; the other is the usage of the last message
  const share = percent(used, total);
  const parts = usage?.parts.filter((one) => one.kind === "used") ?? [];
  return (
    <>
      <section className="panel-part">
        <p className="soft">{words.meaning}</p>
        {used === 0 ? (
          <p>{words.unknown}</p>
        ) : (
          <>
            <p className="context-sum">
              {total > 0 && <strong>{portion(used, total)}</strong>} {words.used(used, total)}
            </p>
            {total > 0 && <Gauge label={words.gauge} percent={share} parts={parts.map((one) => ({ name: one.name, size: one.tokens }))} total={parts.length ? total : 0} full={share > FULL} />}
          </>
        )}
        <Compact followed={followed} share={share} used={used} />
      </section>
      {usage && usage.parts.length > 0 && <Breakdown usage={usage} />}
      {problem && !usage && <p className="panel-part soft">{words.noBreakdown(problem)}</p>}
      <Compactions followed={followed} />
    </>
  );
}

/** The breakdown printed by `/context`, for a CLI that gives no structured answer. */
function printed({ used, total, categories }: Context): ContextUsage | null {
  return categories.length ? usageOf({ categories, totalTokens: used, maxTokens: total }) : null;
}

/** Requested when the panel opens and after each turn. */
function useUsage(followed: Followed): { usage: ContextUsage | null; problem: string } {
  const running = followed.use((shown) => shown.state.turn.running);
  const compacted = followed.use((shown) => shown.state.context.used);
  const allowed = useMay("prompt");
  const [found, setFound] = useState<{ usage: ContextUsage | null; problem: string }>({ usage: null, problem: "" });
  useEffect(() => {
    if (!allowed) return undefined;
    let wanted = true;
    socket.command("context_usage", { session: followed.id }).then(
      (told) => wanted && setFound({ usage: usageOf(told), problem: "" }),
      (error: Error) => wanted && setFound({ usage: null, problem: error.message }),
    );
    return () => void (wanted = false);
  }, [followed, running, compacted, allowed]);
  return found;
}

function Compact({ followed, share, used }: { followed: Followed; share: number; used: number }) {
  const running = followed.use((shown) => shown.state.turn.running);
  const allowed = useMay("prompt");
  const compact = async () => {
    if (await command("send", { session: followed.id, text: "/compact" })) tell(words.compacting);
  };
  const full = share > FULL;
  return (
    <div className={full ? "panel-warning" : ""} role={full ? "alert" : undefined}>
      {full && <p>{words.full(share)}</p>}
      <Button kind={full ? "main" : "plain"} disabled={running || !allowed || used === 0} title={allowed ? (running ? words.busy : "") : strings.panels.needsScope("prompt")} onClick={compact}>
        {words.compact}
      </Button>
    </div>
  );
}

/** A readable name for a category of the CLI. */
const nameOf = (name: string): string => own(words.names, name) ?? name;

function Breakdown({ usage }: { usage: ContextUsage }) {
  const used = usage.parts.filter((one) => one.kind === "used");
  const { columns } = words;
  return (
    <section className="panel-part">
      <h3 id="context-breakdown">{words.breakdown}</h3>
      <table className="panel-table" aria-labelledby="context-breakdown">
        <thead>
          <tr>
            <th scope="col">{columns.what}</th>
            <th scope="col" className="figure">{columns.tokens}</th>
            <th scope="col" className="figure">{columns.share}</th>
          </tr>
        </thead>
        <tbody>
          {usage.parts.map((part) => (
            <tr key={part.name} className={part.kind}>
              <th scope="row">
                <span className={`swatch ${part.kind === "used" ? `shade-${used.indexOf(part) % SHADES}` : ""}`} aria-hidden="true" />
                {visible(part.kind === "deferred" ? words.deferred(nameOf(part.name.replace(/ \(deferred\)$/, ""))) : nameOf(part.name), true)}
              </th>
              <td className="figure">{whole(part.tokens)}</td>
              <td className="figure">{part.kind === "deferred" ? "" : portion(part.tokens, usage.total)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const isCompaction = (row: Row): row is Notice => row.kind === "notice" && row.about === "compacted";

function Compactions({ followed }: { followed: Followed }) {
  const rows = followed.use((shown) => shown.state.rows);
  const marks = rows.filter(isCompaction);
  if (marks.length === 0) return null;
  return (
    <section className="panel-part">
      <h3>{words.compactions}</h3>
      <ul>
        {marks.map((mark) => (
          <li key={mark.key}>
            <time dateTime={new Date(mark.time).toISOString()}>{clock(mark.time)}</time> {words.compaction(number(mark.facts["before"]), number(mark.facts["after"]))}{" "}
            <span className="soft">{words.triggers[text(mark.facts["trigger"])] ?? ""}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
