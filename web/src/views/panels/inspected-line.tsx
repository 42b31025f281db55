// One line of the inspector: time, direction and type; expanded, the whole frame.

import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Copy } from "../../ui/copy";
import { visible } from "../../ui/visible";
import { VisibleText } from "../../ui/visible-text";
import type { Line } from "./inspected";

const words = strings.panels.inspector;
const SIGNS = { to_cli: "→", from_cli: "←", bridge: "·" };

interface Props {
  line: Line;
  /** The number of the matching request or answer, or 0. */
  pair: number;
  open: boolean;
  onToggle(): void;
  onJump(n: number): void;
}

export function InspectedLine({ line, pair, open, onToggle, onJump }: Props) {
  return (
    <div className={`inspected-line ${line.direction}`} role="listitem" data-line={line.n}>
      <div className="row">
        <button type="button" className="inspected-head grow" aria-expanded={open} onClick={onToggle}>
          <span className="soft inspected-number">{line.n}</span>
          <span aria-hidden="true">{SIGNS[line.direction]}</span>
          <span className="unseen">{words.arrows[line.direction]}</span>
          <strong className="one-line">{line.type}</strong>
          <code className="soft one-line grow">{visible(line.whole.slice(0, 200), true)}</code>
          <time className="soft" dateTime={line.time ? new Date(line.time).toISOString() : undefined}>{line.time ? new Date(line.time).toLocaleTimeString("en", { hour12: false }) : ""}</time>
        </button>
        {pair > 0 && (
          <Button kind="quiet" aria-label={line.asks ? words.toAnswer : words.toRequest} title={line.asks ? words.toAnswer : words.toRequest} onClick={() => onJump(pair)}>
            {line.asks ? words.answer : words.request}
          </Button>
        )}
      </div>
      {open && (
        <div className="inspected-body">
          <Copy text={line.whole} label={words.copyLine} />
          <pre><VisibleText text={JSON.stringify(line.frame, null, 2)} /></pre>
        </div>
      )}
    </div>
  );
}
