// Any tool without a renderer: its input and its result, unformatted.

import { object, text, type Json } from "../protocol/wire";
import type { Call } from "../state/state";
import { strings } from "../strings";
import { visible } from "../ui/visible";
import { lineOf } from "./outcome";
import { Fields, Result, Section, Value } from "./parts";
import type { Tool } from "./tool";
import { inputOf } from "./typed";

/** Fields that best describe a call, in order of preference. */
const TELLING = ["command", "file_path", "notebook_path", "path", "query", "pattern", "url", "uri", "title", "subject", "name", "description", "prompt", "text", "message", "id"];

/** An input on one line: its most descriptive field, or a short one. */
export function gist(input: Json): string {
  const name = TELLING.find((one) => typeof input[one] === "string" && input[one]) ?? Object.keys(input).find((one) => typeof input[one] === "string" || typeof input[one] === "number");
  const value = name === undefined ? "" : input[name];
  return text(value) || (typeof value === "number" ? String(value) : "");
}

function Body({ call }: { call: Call }) {
  const input = inputOf(call);
  const detail = call.detail;
  const silent = call.result.length === 0 && detail !== undefined && detail !== null;
  return (
    <>
      {Object.keys(input).length > 0 && (
        <Section title={strings.tools.input}>
          <Fields fields={input} />
        </Section>
      )}
      {call.result.length > 0 && (
        <Section title={strings.tools.result}>
          <div className="tool-terminal">
            <Result call={call} />
          </div>
        </Section>
      )}
      {silent && (
        <Section title={strings.tools.result}>
          <Value value={detail} />
        </Section>
      )}
      {object(detail)["structuredContent"] !== undefined && <Value title={strings.tools.structured} value={object(detail)["structuredContent"]} />}
    </>
  );
}

export const fallback: Tool = {
  icon: "plug",
  line(call) {
    const name = visible(call.title || call.name || strings.tools.noName, true);
    return lineOf({ doing: name, done: name, not: name }, call, gist(inputOf(call)));
  },
  Body,
  Preview({ input }) {
    return (
      <div className="tool-preview">
        <Fields fields={input} fold={false} />
        {Object.keys(input).length === 0 && <p className="tool-note soft">{strings.tools.noInput}</p>}
      </div>
    );
  },
};
