// Sends the answer to a question. An answer given while offline is sent after reconnecting and may be refused then.

import { useState } from "react";

import { reasonOf, Refused } from "../../protocol/api";
import type { AnswerFields } from "../../protocol/messages";
import { answeredHere } from "../../state/answered-here";
import { socket } from "../../state/bridge";
import { tellUntilDismissed } from "../../state/notices";
import type { Question } from "../../state/state";
import { strings } from "../../strings";

export type Said = Omit<AnswerFields, "session" | "question" | "hash">;
export type Give = (said: Said) => void;

export function useAnswer(session: string, question: Question): { give: Give; sending: boolean } {
  const [sending, setSending] = useState(false);
  const give: Give = (said) => {
    if (sending) return;
    setSending(true);
    answeredHere.add(question.id);
    void socket
      .command("answer", { session, question: question.id, hash: question.hash, ...said })
      .catch((error: unknown) => {
        answeredHere.delete(question.id);
        tellUntilDismissed(strings.prompts.notDelivered(undelivered(error)));
      })
      .finally(() => setSending(false));
  };
  return { give, sending };
}

/** Why an answer had no effect. */
export const undelivered = (error: unknown): string => (error instanceof Refused && error.code === "not_pending" ? strings.prompts.notOpen : reasonOf(error));
