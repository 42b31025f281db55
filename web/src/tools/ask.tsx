// AskUserQuestion: the questions, their options and the answers.

import { object, objects, text, type Json } from "../protocol/wire";
import type { Call } from "../state/state";
import { strings } from "../strings";
import { visible } from "../ui/visible";
import { answersOf, isUnread } from "./ask-answers";
import { lineOf } from "./outcome";
import { Result } from "./parts";
import type { Tool } from "./tool";
import { inputOf } from "./typed";

const { ask, verbs } = strings.tools;

const questionsOf = (call: Call): Json[] => objects(inputOf(call)["questions"]);

const noteOf = (call: Call, question: Json): string => text(object(object(object(call.detail)["annotations"])[text(question["question"])])["notes"]);

function Body({ call }: { call: Call }) {
  const questions = questionsOf(call);
  const answers = answersOf(call, questions);
  return (
    <>
      {questions.map((question, at) => (
        <section key={at} className="tool-section">
          <h4>{visible(text(question["question"]), true)}</h4>
          <p className="tool-note soft">{ask.choices(objects(question["options"]).map((option) => visible(text(option["label"]), true)))}</p>
          {answers[at] && <p className="tool-answer">{visible(answers[at])}</p>}
          {noteOf(call, question) && <p className="tool-note">{ask.note(visible(noteOf(call, question)))}</p>}
        </section>
      ))}
      {(call.status !== "done" || isUnread(call, answers)) && <Result call={call} />}
    </>
  );
}

export const askTool: Tool = {
  icon: "question",
  line(call) {
    const questions = questionsOf(call);
    const answers = answersOf(call, questions);
    const object = questions.length === 1 ? text(questions[0]!["question"]) : questions.map((question) => text(question["header"])).filter(Boolean).join(", ");
    const outcome = answers.filter(Boolean).join(" · ") || (isUnread(call, answers) ? ask.answered : ask.none);
    return lineOf(verbs.ask, call, object, call.status === "done" && outcome);
  },
  Body,
};
