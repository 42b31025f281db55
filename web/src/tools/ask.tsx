// AskUserQuestion: what was asked, what could be chosen, and what was.

import { object, objects, text, texts, type Json } from "../protocol/wire";
import type { Call } from "../state/state";
import { strings } from "../strings";
import { visible } from "../ui/visible";
import { lineOf } from "./outcome";
import { Result } from "./parts";
import type { Tool } from "./tool";
import { inputOf } from "./typed";

const { ask, verbs } = strings.tools;

const questionsOf = (call: Call): Json[] => objects(inputOf(call)["questions"]);

function answerOf(call: Call, question: Json): string {
  const told = object(object(call.detail)["answers"])[text(question["question"])];
  return typeof told === "string" ? told : texts(told).join(", ");
}

const noteOf = (call: Call, question: Json): string => text(object(object(object(call.detail)["annotations"])[text(question["question"])])["notes"]);

function Body({ call }: { call: Call }) {
  return (
    <>
      {questionsOf(call).map((question, at) => (
        <section key={at} className="tool-section">
          <h4>{visible(text(question["question"]), true)}</h4>
          <p className="tool-note soft">{ask.choices(objects(question["options"]).map((option) => visible(text(option["label"]), true)))}</p>
          {answerOf(call, question) && <p className="tool-answer">{visible(answerOf(call, question))}</p>}
          {noteOf(call, question) && <p className="tool-note">{ask.note(visible(noteOf(call, question)))}</p>}
        </section>
      ))}
      {call.status !== "done" && <Result call={call} />}
    </>
  );
}

export const askTool: Tool = {
  icon: "question",
  line(call) {
    const questions = questionsOf(call);
    const answers = questions.map((question) => answerOf(call, question)).filter(Boolean);
    const object = questions.length === 1 ? text(questions[0]!["question"]) : questions.map((question) => text(question["header"])).filter(Boolean).join(", ");
    return lineOf(verbs.ask, call, object, call.status === "done" && (answers.join(" · ") || ask.none));
  },
  Body,
};
