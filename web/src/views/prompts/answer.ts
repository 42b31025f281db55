// An answer on its way. In: a question, what the user says. Out: whether it was taken; that somebody else was first is no error.

import { useState } from "react";

import { reasonOf, Refused } from "../../protocol/api";
import type { AnswerFields } from "../../protocol/messages";
import { answeredHere } from "../../state/answered-here";
import { socket } from "../../state/bridge";
import { tell } from "../../state/notices";
import type { Question } from "../../state/state";
import { strings } from "../../strings";

export type Said = Omit<AnswerFields, "session" | "question" | "hash">;
export type Give = (said: Said) => void;

/** Out: how to answer, and whether an answer is under way. */
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
        const elsewhere = error instanceof Refused && error.code === "not_pending";
        tell(elsewhere ? strings.prompts.alreadyAnswered : reasonOf(error), elsewhere ? "info" : "error");
      })
      .finally(() => setSending(false));
  };
  return { give, sending };
}
