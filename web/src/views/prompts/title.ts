// Titles of prompts, in a few words. Pure.

import { object, own, text, type Json } from "../../protocol/wire";
import type { Question } from "../../state/state";
import { strings } from "../../strings";
import { isMcp, mcpParts } from "../../tools/mcp";
import { target } from "../../ui/link";
import { baseName } from "../../ui/paths";
import { visible } from "../../ui/visible";

const { titles } = strings.prompts;
/** Names in titles are shortened; the prompt has the full name. */
const LONGEST = 120;

/** An untrusted name on one line: shortened, with deceptive characters spelled out. */
export function brief(name: string): string {
  const shown = visible(name.slice(0, 10 * LONGEST), true);
  return shown.length > LONGEST ? `${shown.slice(0, LONGEST)}…` : shown;
}

const fileOf = (input: Json): string => brief(baseName(text(input["file_path"]) || text(input["notebook_path"]) || text(input["path"])) || strings.prompts.aFile);

const hostOf = (input: Json): string => target(text(input["url"]))?.host || text(input["url"]);

const TITLES: Record<string, (input: Json) => string> = {
  Bash: () => titles.command,
  PowerShell: () => titles.command,
  Edit: (input) => titles.edit(fileOf(input)),
  MultiEdit: (input) => titles.edit(fileOf(input)),
  NotebookEdit: (input) => titles.edit(fileOf(input)),
  Write: (input) => titles.write(fileOf(input)),
  Read: (input) => titles.read(fileOf(input)),
  WebFetch: (input) => titles.fetch(brief(hostOf(input))),
  WebSearch: () => titles.search,
  Task: () => titles.agent,
  Agent: () => titles.agent,
  Skill: (input) => titles.skill(brief(text(input["skill"]) || text(input["command"]))),
};

function permission(request: Json): string {
  const name = text(request["tool_name"]);
  if (isMcp(name)) {
    const { server, tool } = mcpParts(name); // as spelled, not prettified: two tools must not look alike here
    return titles.mcp(brief(server), brief(tool));
  }
  return own(TITLES, name)?.(object(request["input"])) || titles.any(brief(name));
}

export function titleOf(question: Question): string {
  const { request } = question;
  const kinds: Record<Question["kind"], () => string> = {
    permission: () => permission(request),
    questions: () => {
      const asked = object(request["input"])["questions"];
      const count = Array.isArray(asked) ? asked.length : 1;
      return count > 1 ? strings.prompts.questions(count) : strings.prompts.question;
    },
    plan: () => strings.prompts.plan,
    elicitation: () => strings.prompts.server(brief(text(request["mcp_server_name"]) || text(request["server_name"]))),
  };
  return (kinds[question.kind] ?? kinds.permission)();
}
