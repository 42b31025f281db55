// Words of the side panels. Those of the settings and of the inspector have files of their own.

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
  settings,
  statusBar,
  inspector,
  loading: "Loading…",
  needsScope: (scope: string) => `This device may not do that: it lacks the right “${pages.devices.scopes[scope]?.name ?? scope}”.`,
  asleep: "The session sleeps. What you choose holds as soon as it goes on.",

  help: {
    what: [
      "This page shows sessions of a coding agent that runs on your machine. You write at the bottom; what it says and does appears above, and nothing that needs your consent happens before you allow it.",
      "Each line with an icon is a tool that was used: click it to see what went in and what came out.",
      "You can close this page at any time. The session goes on, and everything is here again when you come back.",
    ],
    keys: "All keys",
    filter: "Filter",
    nothing: (filter: string) => `Nothing here contains “${filter}”.`,
    none: "None",
    sections: { commands: "Commands", tools: "Tools", agents: "Agents", skills: "Skills", plugins: "Plugins", hooks: "Active hooks" },
    about: {
      commands: "Type / in the message field and the name.",
      tools: "What the model can use. Some of them ask you first.",
      agents: "Helpers that the model can give a task to.",
      skills: "Instructions that the model reads when they fit.",
      plugins: "They bring commands, agents, skills and hooks.",
      hooks: "Programs of yours that run when something happens. They can allow, refuse or change it.",
    },
    notYet: "Known after the first message.",
    version: (cli: string, version: string) => [cli && (own(CLIS, cli) ?? cli), version && `version ${version}`].filter(Boolean).join(", "),
    account: "Account",
    server: (version: string) => `Handrail ${version}`,
    hook: (event: string, matcher: string) => [momentTitle(event), matcher].filter(Boolean).join(": "),
    more: (count: number) => `And ${whole(count)} more: the filter finds them.`,
    from: (source: string) => `from ${own(SOURCES, source) ?? source}`,
  },

  context: {
    used: (used: number, total: number) => (total ? `${whole(used)} of ${whole(total)} tokens` : `${whole(used)} tokens`),
    meaning: "The context is all that the model can see at once: its instructions, the tools, and this conversation.",
    unknown: "Not measured yet. It is known after the first answer.",
    gauge: "Context used",
    full: (percent: number) => `The context is ${percent} % full. When it is full, the conversation is compacted by itself: it goes on with a summary, and details may be lost. Compact it now at a moment that suits you, or start a new session.`,
    compact: "Compact now",
    compacting: "Compacting was asked for",
    busy: "Possible when the turn is over",
    breakdown: "What fills it",
    columns: { what: "What", tokens: "Tokens", share: "Share" },
    names: { "Autocompact buffer": "Kept free for compacting", "System tools": "Tools", "System prompt": "Instructions of the CLI", "MCP tools": "Tools of MCP servers", "Custom agents": "Agents", "Memory files": "Memory files (CLAUDE.md)" } as Record<string, string>,
    deferred: (name: string) => `${name}, loaded only when needed`,
    noBreakdown: (why: string) => `No breakdown: ${why}`,
    compactions: "Compactions",
    compaction: (before: number, after: number) => (before && after ? `${short(before)} → ${short(after)} tokens` : before ? `from ${short(before)} tokens` : after ? `to ${short(after)} tokens` : ""),
    triggers: { manual: "asked for", auto: "by itself" } as Record<string, string>,
  },

  tasks: {
    none: "No tasks. For longer work the model keeps a list here.",
    details: "Details",
    progress: (done: number, all: number) => `${done} of ${all} done`,
    list: "To do",
    groups: { in_progress: "Now", pending: "Next", completed: "Done" },
    statuses: { pending: "not begun", in_progress: "in progress", completed: "done" },
    blocked: (ids: string[]) => `waits for ${ids.map((id) => `#${id}`).join(", ")}`,
    owner: (name: string) => `by ${name}`,
    background: "In the background",
    running: "running",
    ended: { completed: "done", failed: "failed", stopped: "stopped" } as Record<string, string>,
    stop: "Stop",
    stopNamed: (name: string) => `Stop: ${name}`,
    uses: (tool: string) => `uses ${tool}`,
    tokens: (count: number) => `${short(count)} tokens`,
    kinds: { local_bash: "command", local_agent: "agent", remote_agent: "agent elsewhere" } as Record<string, string>,
  },

  changes: {
    none: "No file was changed in this session yet.",
    totals: (files: number) => things(files, "file"),
    created: "new file",
    times: (count: number) => things(count, "change"),
    nth: (name: string, number: number) => `${name}, change ${number}`,
    copyPath: "Copy path",
    copyPatch: "Copy all as a patch",
    openAll: "Open all",
    closeAll: "Close all",
    whole: "From before the first change to after the last",
    single: "Each change by itself",
    cut: "Too large: only what was told is shown.",
    noDiff: "No difference is left: what was changed was changed back.",
    older: "The earlier part of this session is not loaded yet; files changed there are missing here.",
    by: "by an agent",
  },

  mcp: {
    none: "No MCP servers. They give the model further tools: a database, a browser, your issue tracker.",
    statuses: { connected: "connected", failed: "failed", disabled: "switched off", pending: "connecting…", "needs-auth": "needs you to sign in" } as Record<string, string>,
    tools: (count: number) => things(count, "tool"),
    reconnect: "Connect again",
    on: "Switch on",
    off: "Switch off",
    signIn: "Sign in",
    openSignIn: "Open the sign-in page",
    signInHelp: "Sign in on the page that opens. If your browser ends at an address that cannot be opened, copy that address and paste it here.",
    signInAddress: "Address where the browser ended",
    finish: "Finish",
    refresh: "Look again",
    add: "Add a server",
    addWarning: "A server of the kind “command” is a program that runs on this machine with your rights. Add only what you trust.",
    replaces: "It holds for this session, in place of servers that were added before this page was loaded.",
    name: "Name",
    kind: "Kind",
    kinds: { stdio: "A command on this machine", http: "An address (HTTP)", sse: "An address (SSE)" },
    command: "Command with its arguments",
    commandHint: "For example: npx -y @example/server --read-only",
    url: "Address",
    urlHint: "For example: https://example.com/mcp",
    addIt: "Add and connect",
    added: (name: string) => `${name} was added`,
    addedButFailed: (name: string) => `${name} was added, but there is no connection: the list says why`,
    failedToAdd: (name: string, why: string) => `${name} could not be added: ${why}`,
    badName: "A name of letters, digits, - and _",
    badCommand: "A command is missing, or a quotation mark is not closed",
    badUrl: "An address that begins with https:// or http://",
    onlyAdmin: "Only a device with the right “Administer” can add servers.",
    asleep: "The session sleeps. How the servers are is known when it runs.",
  },
};

const CLIS: Record<string, string> = { agent: "Handrail's own agent", claude: "Claude Code", "claude-code": "Claude Code" };
const SOURCES: Record<string, string> = { user: "your settings", userSettings: "your settings", project: "the project", projectSettings: "the project", local: "your settings for this project", localSettings: "your settings for this project", policySettings: "your organization", plugin: "a plugin" };
