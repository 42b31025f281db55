// Skill: a set of instructions the model loaded.

import { plain, text } from "../protocol/wire";
import { strings } from "../strings";
import { Markdown } from "../ui/markdown";
import { lineOf } from "./outcome";
import { Rest, Result } from "./parts";
import type { Tool } from "./tool";
import { inputOf } from "./typed";

export const skillTool: Tool = {
  icon: "book",
  line(call) {
    const input = inputOf(call);
    return lineOf(strings.tools.verbs.skill, call, text(input["skill"]) || text(input["command"]) || text(input["name"]), text(input["args"]));
  },
  Body({ call }) {
    return (
      <>
        <Rest input={inputOf(call)} shown={["skill"]} />
        {call.status === "done" ? (
          <div className="tool-body-text">
            <Markdown text={plain(call.result)} />
          </div>
        ) : (
          <Result call={call} />
        )}
      </>
    );
  },
};
