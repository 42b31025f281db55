// Texts of the side panels. Settings and inspector have their own files.

import { own } from "../protocol/wire";
import { short, whole } from "./figures";
import { inspector } from "./inspector";
import { pages } from "./pages";
import { settings, statusBar } from "./settings";
import { momentTitle } from "./told";

const things = (count: number, one: string, many = `${one}s`): string => `${whole(count)} ${count === 1 ? one : many}`;

export const panels = {
  names: {
    tasks: "Tasks",
    changes: "Changes",
    context: "Context",
    mcp: "MCP servers",
    help: "Help",
    settings: "Settings",
    inspector: "Inspector",
  },
  /** Shorter names for the buttons in the header of a session. */
  short: { mcp: "MCP" } as Record<string, string>,
  settings,
  statusBar,
  inspector,
  loading: "Loading…",
  needsScope: (scope: string) => `This device lacks the ${pages.devices.scopes[scope]?.name ?? scope} scope.`,
  asleep: "The session is not running. Changes take effect when it resumes.",

  help: {
    what: [
      "This page shows sessions of a coding agent that runs on your machine. Write messages at the bottom; its answers and actions appear above. It asks before doing anything that needs your permission.",
      "Each line with an icon is a tool call. Click it to see input and output.",
      "You can close this page at any time. Sessions keep running, and everything is here when you return.",
    ],
    keys: "Keyboard shortcuts",
    filter: "Filter",
    nothing: (filter: string) => `No matches for “${filter}”.`,
    none: "None",
    sections: { commands: "Commands", tools: "Tools", agents: "Agents", skills: "Skills", plugins: "Plugins", hooks: "Active hooks" },
    about: {
      commands: "Type / and the name in the message field.",
      tools: "The tools of the model. Some ask for permission first.",
      agents: "Subagents the model can delegate to.",
      skills: "Instructions the model loads when relevant.",
      plugins: "Packages of commands, agents, skills and hooks.",
      hooks: "Your own commands that run on events. They can allow, deny or change them.",
    },
    notYet: "Available after the first message.",
    version: (cli: string, version: string) => [cli && (own(CLIS, cli) ?? cli), version && `version ${version}`].filter(Boolean).join(", "),
    account: "Account",
    server: (version: string) => `Handrail ${version}`,
    hook: (event: string, matcher: string) => [momentTitle(event), matcher].filter(Boolean).join(": "),
    more: (count: number) => `And ${whole(count)} more. Use the filter to find them.`,
    from: (source: string) => `from ${own(SOURCES, source) ?? source}`,
  },

  context: {
    used: (used: number, total: number) => (total ? `${whole(used)} of ${whole(total)} tokens` : `${whole(used)} tokens`),
    meaning: "The context is everything the model sees at once: instructions, tools and this conversation.",
    unknown: "Available after the first answer.",
    gauge: "Context used",
    full: (percent: number) => `The context is ${percent} % full. When it is full, the conversation is compacted automatically: it continues with a summary, and details may be lost. Compact it now, or start a new session.`,
    compact: "Compact now",
    compacting: "Compacting requested",
    busy: "Available when the turn has ended",
    breakdown: "Breakdown",
    columns: { what: "What", tokens: "Tokens", share: "Share" },
    names: { "Autocompact buffer": "Reserved for compacting", "System tools": "Tools", "System prompt": "System prompt", "MCP tools": "MCP tools", "Custom agents": "Agents", "Memory files": "Memory files (CLAUDE.md)" } as Record<string, string>,
    deferred: (name: string) => `${name}, loaded only when needed`,
    noBreakdown: (why: string) => `No breakdown: ${why}`,
    compactions: "Compactions",
    compaction: (before: number, after: number) => (before && after ? `${short(before)} → ${short(after)} tokens` : before ? `from ${short(before)} tokens` : after ? `to ${short(after)} tokens` : ""),
    triggers: { manual: "manual", auto: "automatic" } as Record<string, string>,
  },

  tasks: {
    none: "No tasks. For longer work the model lists its tasks here.",
    details: "Details",
    progress: (done: number, all: number) => `${done} of ${all} done`,
    list: "To do",
    groups: { in_progress: "Now", pending: "Next", completed: "Done" },
    statuses: { pending: "not started", in_progress: "in progress", completed: "done" },
    blocked: (ids: string[]) => `waits for ${ids.map((id) => `#${id}`).join(", ")}`,
    owner: (name: string) => `by ${name}`,
    background: "In the background",
    running: "running",
    ended: { completed: "done", failed: "failed", stopped: "stopped" } as Record<string, string>,
    stop: "Stop",
    stopNamed: (name: string) => `Stop: ${name}`,
    uses: (tool: string) => `uses ${tool}`,
    tokens: (count: number) => `${short(count)} tokens`,
    kinds: { local_bash: "command", local_agent: "agent", remote_agent: "remote agent" } as Record<string, string>,
  },

  changes: {
    none: "No files changed yet.",
    totals: (files: number) => things(files, "file"),
    created: "new file",
    times: (count: number) => things(count, "change"),
    nth: (name: string, number: number) => `${name}, change ${number}`,
    copyPath: "Copy path",
    copyPatch: "Copy all as a patch",
    openAll: "Open all",
    closeAll: "Close all",
    whole: "All changes combined",
    single: "Each change separately",
    cut: "Too large: only part of it is shown.",
    noDiff: "No difference: the changes were reverted.",
    older: "Earlier events are not loaded yet; files changed there are missing.",
    by: "by a subagent",
  },

  mcp: {
    none: "No MCP servers. They add tools such as a database, a browser or an issue tracker.",
    statuses: { connected: "connected", failed: "failed", disabled: "disabled", pending: "connecting…", "needs-auth": "sign-in required" } as Record<string, string>,
    tools: (count: number) => things(count, "tool"),
    reconnect: "Reconnect",
    on: "Enable",
    off: "Disable",
    signIn: "Sign in",
    openSignIn: "Open the sign-in page",
    signInHelp: "Sign in on the page that opens. If the browser then shows an address it cannot open, copy that address and paste it here.",
    signInAddress: "Final address in the browser",
    finish: "Finish",
    refresh: "Refresh",
    add: "Add a server",
    addWarning: "A command server is a program that runs on this machine with your permissions. Add only servers you trust.",
    replaces: "It applies to this session and replaces servers added before this page was loaded.",
    name: "Name",
    kind: "Kind",
    kinds: { stdio: "Command on this machine", http: "URL (HTTP)", sse: "URL (SSE)" },
    command: "Command and arguments",
    commandHint: "For example: npx -y @example/server --read-only",
    url: "Address",
    urlHint: "For example: https://example.com/mcp",
    addIt: "Add and connect",
    added: (name: string) => `${name} was added`,
    addedButFailed: (name: string) => `${name} was added but could not connect; see the list for the reason`,
    failedToAdd: (name: string, why: string) => `${name} could not be added: ${why}`,
    badName: "Use letters, digits, - and _",
    badCommand: "The command is missing or a quote is not closed",
    badUrl: "Enter an address that starts with https:// or http://",
    onlyAdmin: "Adding servers needs the Administer scope.",
    asleep: "The session is not running. The status is available when it runs.",
  },
};

const CLIS: Record<string, string> = { agent: "Embedded agent", claude: "Claude Code", "claude-code": "Claude Code" };
const SOURCES: Record<string, string> = { user: "your settings", userSettings: "your settings", project: "the project", projectSettings: "the project", local: "your settings for this project", localSettings: "your settings for this project", policySettings: "your organization", plugin: "a plugin" };
