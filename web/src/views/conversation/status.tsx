// The current activity in one line under the conversation, also for screen readers.

import type { Followed } from "../../state/followed";
import { strings } from "../../strings";
import { span } from "../../strings/figures";
import { useClock } from "../../ui/use-clock";

export function Status({ followed }: { followed: Followed }) {
  const turn = followed.use((shown) => shown.state.turn);
  const waiting = followed.use((shown) => shown.state.questions.length);
  const now = useClock(turn.running);
  if (!turn.running || waiting) return <div className="status" role="status" />;
  const left = turn.retry ? Math.max(0, Math.ceil((turn.retry.at - now) / 1000)) : 0;
  // The conversation has a row with the reason for the retry.
  const words = turn.retry ? strings.conversation.retryingIn(left) : (strings.conversation.doing[turn.doing] ?? turn.doing);
  return (
    <div className="status small soft">
      <span className="breath" aria-hidden="true" />
      <span role="status">{words}</span>
      {turn.began > 0 && <span aria-hidden="true"> · {span(Math.max(0, now - turn.began))}</span>}
    </div>
  );
}
