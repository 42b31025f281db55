// The renderers by tool name. Tools not listed here get the fallback.

import { agentTool } from "./agent";
import { askTool } from "./ask";
import { bashOutputTool, bashTool, killShellTool } from "./bash";
import { editTool, multiEditTool } from "./edit";
import { fallback } from "./fallback";
import { globTool, grepTool } from "./find";
import { isMcp, mcpTool } from "./mcp";
import { notebookEditTool } from "./notebook-edit";
import { enterPlanTool, exitPlanTool } from "./plan";
import { readTool } from "./read";
import { skillTool } from "./skill";
import { taskCreateTool, taskGetTool, taskListTool, taskUpdateTool, todoWriteTool } from "./task-list";
import type { Tool } from "./tool";
import { webFetchTool, webSearchTool } from "./web";
import { writeTool } from "./write";

const TOOLS: Record<string, Tool> = {
  Agent: agentTool,
  AskUserQuestion: askTool,
  Bash: bashTool,
  BashOutput: bashOutputTool,
  Edit: editTool,
  EnterPlanMode: enterPlanTool,
  ExitPlanMode: exitPlanTool,
  Glob: globTool,
  Grep: grepTool,
  KillBash: killShellTool,
  KillShell: killShellTool,
  MultiEdit: multiEditTool,
  NotebookEdit: notebookEditTool,
  Read: readTool,
  Skill: skillTool,
  Task: agentTool,
  TaskCreate: taskCreateTool,
  TaskGet: taskGetTool,
  TaskList: taskListTool,
  TaskOutput: bashOutputTool,
  TaskStop: killShellTool,
  TaskUpdate: taskUpdateTool,
  TodoWrite: todoWriteTool,
  WebFetch: webFetchTool,
  WebSearch: webSearchTool,
  Write: writeTool,
};

export function toolOf(name: string): Tool {
  if (Object.hasOwn(TOOLS, name)) return TOOLS[name]!;
  return isMcp(name) ? mcpTool : fallback;
}
