// Sends the answer to a question. An answer given while offline is sent after reconnecting and may be refused then.

import { useState } from "react";

import type { AnswerFields } from "../../protocol/messages";
import { answeredHere } from "../../state/answered-here";
import { ask, reportAnswer } from "../../state/bridge";
import type { Question } from "../../state/state";

export type Said = Omit<AnswerFields, "session" | "question" | "hash">;
export type Give = (said: Said) => void;

export function useAnswer(session: string, question: Question): { give: Give; sending: boolean } {
  const [sending, setSending] = useState(false);
  const give: Give = (said) => {
    if (sending) return;
    setSending(true);
    answeredHere.add(question.id);
    void ask("answer", { session, question: question.id, hash: question.hash, ...said })
      .catch((error: unknown) => reportAnswer(question.id, error))
      .finally(() => setSending(false));
  };
  return { give, sending };
}
