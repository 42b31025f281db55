// ExitPlanMode, EnterPlanMode: a plan as rendered Markdown.

import { object, text } from "../protocol/wire";
import type { Call } from "../state/state";
import { strings } from "../strings";
import { Markdown } from "../ui/markdown";
import { visible } from "../ui/visible";
import { lineOf } from "./outcome";
import { Note, Rest, Result } from "./parts";
import type { Tool } from "./tool";
import { inputOf } from "./typed";

const { plan, verbs } = strings.tools;

const fileOf = (call: Call | undefined): string => text(object(call?.detail)["filePath"]);

function Body({ call }: { call: Call }) {
  const words = text(object(call.detail)["plan"]) || text(inputOf(call)["plan"]);
  const file = fileOf(call) || text(inputOf(call)["planFilePath"]);
  return (
    <>
      {words ? (
        <div className="tool-body-text">
          <Markdown text={words} live={call.status === "typing"} />
        </div>
      ) : (
        <Note>{plan.inFile(visible(file, true))}</Note>
      )}
      {words && file && <Note>{plan.saved(visible(file, true))}</Note>}
      {call.status !== "done" && <Result call={call} />}
    </>
  );
}

export const exitPlanTool: Tool = {
  icon: "plan",
  line: (call) => lineOf(verbs.plan, call, "", call.status === "done" && plan.approved),
  Body,
  Preview({ input, call }) {
    const words = text(input["plan"]);
    return (
      <div className="tool-preview">
        {words ? (
          <div className="tool-body-text">
            <Markdown text={words} />
          </div>
        ) : (
          <Note>{plan.inFile(visible(text(input["planFilePath"]) || fileOf(call), true))}</Note>
        )}
        <Rest input={input} shown={words ? ["plan"] : []} />
      </div>
    );
  },
};

export const enterPlanTool: Tool = {
  icon: "plan",
  line: (call) => lineOf(verbs.enterPlan, call, ""),
  Body: ({ call }) => <Result call={call} />,
};
