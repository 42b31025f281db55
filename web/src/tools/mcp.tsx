// Tools of MCP servers: `mcp__github__search_issues` is shown as "GitHub › Search issues". Input and result are shown unformatted.

import { object } from "../protocol/wire";
import type { Call } from "../state/state";
import { strings } from "../strings";
import { visible } from "../ui/visible";
import { gist } from "./fallback";
import { lineOf } from "./outcome";
import { Fields, Result, Section, Value } from "./parts";
import type { Tool } from "./tool";
import { inputOf } from "./typed";

const PREFIX = "mcp__";
/** Names with irregular capitalisation. */
const SPELLED: Record<string, string> = { github: "GitHub", gitlab: "GitLab", postgresql: "PostgreSQL", mysql: "MySQL", sqlite: "SQLite", youtube: "YouTube", api: "API", url: "URL", id: "ID", ide: "IDE", sql: "SQL", html: "HTML", json: "JSON", pdf: "PDF", aws: "AWS" };

export const isMcp = (name: string): boolean => name.startsWith(PREFIX) && name.indexOf("__", PREFIX.length) > 0;

/** The server and the tool, as spelled in the name. */
export function mcpParts(name: string): { server: string; tool: string } {
  const end = name.indexOf("__", PREFIX.length);
  return { server: name.slice(PREFIX.length, end), tool: name.slice(end + 2) };
}

const spoken = (name: string): string =>
  name
    .split(/[_\s-]+/)
    .filter(Boolean)
    .map((word) => (Object.hasOwn(SPELLED, word.toLowerCase()) ? SPELLED[word.toLowerCase()]! : word[0]!.toUpperCase() + word.slice(1)))
    .join(" ");

/** "GitHub › Search Issues" */
function mcpTitle(name: string, title = ""): string {
  const { server, tool } = mcpParts(name);
  return visible(`${spoken(server)} › ${title || spoken(tool)}`, true);
}

function Body({ call }: { call: Call }) {
  const input = inputOf(call);
  const structured = object(call.detail)["structuredContent"];
  return (
    <>
      {Object.keys(input).length > 0 && (
        <Section title={strings.tools.input}>
          <Fields fields={input} />
        </Section>
      )}
      {call.result.length > 0 && (
        <Section title={strings.tools.result}>
          {structured === undefined ? <div className="tool-terminal"><Result call={call} /></div> : <Value title={strings.tools.structured} value={structured} />}
        </Section>
      )}
    </>
  );
}

export const mcpTool: Tool = {
  icon: "plug",
  line(call) {
    const title = mcpTitle(call.name, call.title);
    return lineOf({ doing: title, done: title, not: title }, call, gist(inputOf(call)));
  },
  Body,
};
