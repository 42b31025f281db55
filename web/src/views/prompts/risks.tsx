// What could go wrong with a call, and what it would touch, as the permission engine reads it.

import { Fragment } from "react";

import { own } from "../../protocol/wire";
import type { Risk } from "../../state/state";
import { strings } from "../../strings";
import { Icon } from "../../ui/icon";
import { visible } from "../../ui/visible";

const words = strings.prompts;

/** Risks whose subject is a sentence rather than a name. */
const SENTENCES = ["critical"];

export function Risks({ risks, edited }: { risks: readonly Risk[]; edited: boolean }) {
  if (risks.length === 0) return null;
  return (
    <section className="prompt-risks small" aria-label={words.risks}>
      {edited && <p className="soft">{words.risksBeforeEdit}</p>}
      <ul>
        {risks.map(({ kind, subjects }) => (
          <li key={kind}>
            <Icon name="warning" size={14} />
            <span>
              <strong>{own(words.riskKinds, kind) ?? visible(kind, true)}</strong>
              {subjects.map((subject) => (
                <Fragment key={subject}> {SENTENCES.includes(kind) ? visible(subject, true) : <code>{visible(subject, true)}</code>}</Fragment>
              ))}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
