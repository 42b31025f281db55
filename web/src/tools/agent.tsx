// Task (also called Agent): a subagent. Its own rows are drawn below the call; the body shows its task and its result.

import { blocks, number, object, text } from "../protocol/wire";
import type { Call } from "../state/state";
import { strings } from "../strings";
import { span } from "../strings/figures";
import { Code } from "../ui/code";
import { Markdown } from "../ui/markdown";
import { lasted, lineOf } from "./outcome";
import { Note, Rest, Result, Section } from "./parts";
import type { Tool } from "./tool";
import { inputOf } from "./typed";

const { agent, verbs } = strings.tools;

const isAsync = (call: Call): boolean => object(call.detail)["isAsync"] === true;

/** The result without the text that the CLI adds for the model. */
function answer(call: Call): string {
  const detail = object(call.detail);
  const content = detail["content"] ?? call.result;
  return blocks(content)
    .map((block) => text(block["text"]).replace(/<tools-used-before-summary>[\s\S]*?<\/tools-used-before-summary>/g, "").trim())
    .filter(Boolean)
    .join("\n\n");
}

function figures(call: Call): string[] {
  const detail = object(call.detail);
  const [tools, tokens, ms] = [number(detail["totalToolUseCount"]), number(detail["totalTokens"]), number(detail["totalDurationMs"])];
  return [tools ? agent.tools(tools) : "", tokens ? agent.tokens(tokens) : "", ms ? span(ms) : isAsync(call) ? "" : lasted(call)];
}

function Body({ call }: { call: Call }) {
  const prompt = text(inputOf(call)["prompt"]);
  return (
    <>
      {prompt && (
        <Section title={agent.job}>
          <div className="tool-body-text">
            <Markdown text={prompt} live={call.status === "typing"} />
          </div>
        </Section>
      )}
      {isAsync(call) && <Note>{agent.background}</Note>}
      {call.status === "done" && !isAsync(call) && (
        <Section title={agent.answer}>
          <div className="tool-body-text">
            <Markdown text={answer(call)} />
          </div>
        </Section>
      )}
      {call.status !== "done" && <Result call={call} />}
    </>
  );
}

export const agentTool: Tool = {
  icon: "robot",
  line(call) {
    const input = inputOf(call);
    return lineOf(verbs.agent, call, text(input["description"]), text(input["subagent_type"]), isAsync(call) && agent.inBackground, ...figures(call));
  },
  Body,
  Preview({ input }) {
    return (
      <div className="tool-preview">
        <Code text={text(input["prompt"])} title={agent.job} />
        <Rest input={input} shown={["prompt"]} />
      </div>
    );
  },
};
