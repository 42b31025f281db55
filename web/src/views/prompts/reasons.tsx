// Why the permission is requested: the CLI's reason, and the path that caused the question.

import { text } from "../../protocol/wire";
import type { Question } from "../../state/state";
import { strings } from "../../strings";
import { visible } from "../../ui/visible";

const words = strings.prompts;

export function Reasons({ question }: { question: Question }) {
  const { request } = question;
  const reason = text(request["decision_reason"]);
  const path = text(request["blocked_path"]);
  if (!reason && !path) return null;
  return (
    <dl className="prompt-reasons small">
      {reason && (
        <div>
          <dt>{words.why}</dt>
          <dd>{visible(reason)}</dd>
        </div>
      )}
      {path && (
        <div>
          <dt>{words.blocked}</dt>
          <dd><code>{visible(path, true)}</code></dd>
        </div>
      )}
    </dl>
  );
}
