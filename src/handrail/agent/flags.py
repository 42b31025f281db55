"""The flags of the command line, one row each.

A row says what the flag sets, and its state: it works, it is refused with an error, or it is accepted and a line on
stderr says that it is ignored. `docs/guides/agent.md` lists these rows.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

__all__ = ["EFFORTS", "FLAGS", "MODES", "SUBCOMMANDS", "Flag", "State"]

EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
MODES: Final = ("acceptEdits", "auto", "bypassPermissions", "manual", "dontAsk", "plan", "default")
SUBCOMMANDS: Final = frozenset(
    "agents attach auth auto-mode doctor gateway import install kill logs mcp plugin plugins purge respawn rm"
    " setup-token stop ultrareview update upgrade".split()
)
"""Words that the CLI takes for a sub-command where they come first."""
State = Literal["works", "refused", "notice"]


class Flag(Struct, frozen=True):
    """One flag: its names, and the field of Arguments it sets."""

    names: str
    field: str
    kind: str = "value"
    """value, switch, list (words as they are), names (words split at commas), optional, int, float"""
    choices: tuple[str, ...] = ()
    help: str = ""
    state: State = "works"
    why: str = ""
    """Why a flag is refused or ignored."""

    @property
    def name(self) -> str:
        """The long name."""
        return next(name for name in self.names.split() if name.startswith("--"))

    @property
    def dest(self) -> str:
        """The key under which parsers store its value."""
        return self.field or self.name


def _refused(names: str, why: str, kind: str = "optional") -> Flag:
    return Flag(names, "", kind, help=f"not supported: {why}", state="refused", why=why)


def _ignored(names: str, why: str, kind: str = "switch") -> Flag:
    return Flag(names, "", kind, help=f"ignored: {why}", state="notice", why=why)


_HOSTED: Final = "it needs Anthropic's hosted service"
_TERMINAL: Final = "it needs a terminal"

FLAGS: Final = (
    # Input and output
    Flag("-p --print", "print", "switch", help="answer one prompt and exit"),
    Flag("--input-format", "input_format", choices=("text", "stream-json"), help="format of the input"),
    Flag("--output-format", "output_format", choices=("text", "json", "stream-json"), help="format of the output"),
    Flag("--verbose", "verbose", "switch", help="print every message, not only the result"),
    Flag("--include-partial-messages", "include_partial_messages", "switch", help="also send stream events"),
    Flag("--include-hook-events", "include_hook_events", "switch", help="also report hooks of every event"),
    Flag("--replay-user-messages", "replay_user_messages", "switch", help="echo each prompt when its turn begins"),
    Flag("--forward-subagent-text", "forward_subagent_text", "switch", help="send the text of subagents too"),
    Flag("--await-initialize", "await_initialize", "switch", help="start after the host's initialize request"),
    Flag("--prompt-suggestions", "prompt_suggestions", "optional", help="suggest the next prompt after each turn"),
    # Permissions
    Flag("--permission-prompt-tool", "permission_prompt_tool", help="stdio, or an MCP tool that decides"),
    Flag("--permission-prompts", "permission_prompts", choices=("host", "none"), help="who answers questions"),
    Flag("--permission-mode", "permission_mode", choices=MODES, help="which calls run without a question"),
    Flag("--allowedTools --allowed-tools", "allowed_tools", "names", help='rules such as "Bash(git:*) Edit"'),
    Flag("--disallowedTools --disallowed-tools", "disallowed_tools", "names", help="rules for denied calls"),
    Flag("--tools", "tools", "names", help='the tools to offer: "", "default", or names'),
    Flag("--add-dir", "add_dir", "list", help="more folders to work in"),
    Flag("--dangerously-skip-permissions", "skip_permissions", "switch", help="run every call without a question"),
    Flag(
        "--allow-dangerously-skip-permissions",
        "may_skip_permissions",
        "switch",
        help="let the host choose the mode bypassPermissions later",
    ),
    # Model
    Flag("--model", "model", help="a model or an alias such as sonnet; [1m] at the end asks for the long context"),
    Flag("--fallback-model", "fallback_model", help="models to use, in order, while the model is overloaded"),
    Flag("--effort", "effort", help=f"how much work to put in: {', '.join(EFFORTS)}"),
    Flag("--thinking", "thinking", choices=("adaptive", "enabled", "disabled"), help="whether the model thinks"),
    Flag("--thinking-display", "thinking_display", choices=("summarized", "omitted"), help="how thoughts are sent"),
    Flag("--max-thinking-tokens", "max_thinking_tokens", "int", help="budget for thoughts; 0 turns them off"),
    Flag("--max-turns", "max_turns", "int", help="most rounds with the model for one prompt; 0 means no limit"),
    Flag("--max-budget-usd", "max_budget_usd", "float", help="stop when this much was spent"),
    Flag("--task-budget", "task_budget", "int", help="token budget that the model plans with"),
    Flag("--json-schema", "json_schema", help="schema that the answer has to fit"),
    Flag("--betas", "betas", "names", help="beta features of the Messages API"),
    Flag("--workload", "workload", help="a tag for the user agent of API requests"),
    # Prompts and agents
    Flag("--system-prompt", "system_prompt", help="replace the system prompt"),
    Flag("--system-prompt-file", "system_prompt_file", help="replace the system prompt by a file"),
    Flag("--append-system-prompt", "append_system_prompt", help="add to the system prompt"),
    Flag("--append-system-prompt-file", "append_system_prompt_file", help="add a file to the system prompt"),
    Flag(
        "--exclude-dynamic-system-prompt-sections",
        "exclude_dynamic",
        "switch",
        help="put the folder, the date and memory files into the first prompt",
    ),
    Flag("--agents", "agents", help="agents: JSON or a file"),
    Flag("--agent", "agent", help="the agent that leads the session"),
    # Settings and extensions
    Flag("--settings", "settings", help="settings: a file or JSON"),
    Flag("--setting-sources", "setting_sources", help="settings files to read: user,project,local"),
    Flag("--trust-folder", "trust_folder", "switch", help="trust the settings, hooks and servers of this folder"),
    Flag("--managed-settings", "managed_settings", help="policy settings as JSON"),
    Flag(
        "--managed-settings-in-initialize",
        "managed_settings_in_initialize",
        "switch",
        help="policy settings come with the initialize request",
    ),
    Flag("--project-config-root", "project_config_root", help="folder whose project settings are read"),
    Flag("--mcp-config", "mcp_config", "list", help="MCP servers: files or JSON"),
    Flag("--strict-mcp-config", "strict_mcp_config", "switch", help="only the servers of --mcp-config"),
    Flag("--plugin-dir", "plugin_dir", "list", help="load a plugin from a folder"),
    Flag("--plugin-dir-no-mcp", "plugin_dir_no_mcp", "list", help="load a plugin without its MCP servers"),
    Flag("--disable-slash-commands", "disable_slash_commands", "switch", help="no commands and skills"),
    Flag("--bare", "bare", "switch", help="without hooks, memory files and what files of the folder add"),
    # Sessions
    Flag("-r --resume", "resume", "optional", help="continue a session by its id or title"),
    Flag("--resume-session-at", "resume_session_at", help="continue after this message"),
    Flag("--resume-drops-turn", "resume_drops_turn", help="the turn that --resume-session-at is to drop"),
    Flag("-c --continue", "continue_", "switch", help="continue the latest session of this folder"),
    Flag("--fork-session", "fork_session", "switch", help="continue under a new id"),
    Flag("--session-id", "session_id", help="id of the new session"),
    Flag("--from-pr", "from_pr", "optional", help="continue the session that is linked to a pull request"),
    Flag("-n --name", "name", help="title of the session"),
    Flag("--no-session-persistence", "no_session_persistence", "switch", help="write no transcript"),
    Flag("--session-mirror", "session_mirror", "switch", help="send the lines of the transcript to the host"),
    Flag("--rewind-files", "rewind_files", help="restore files as they were before a prompt, and exit"),
    Flag("--file", "file", "list", help="download a file before the start: FILE_ID:PATH"),
    # Diagnosis
    Flag("--debug -d", "debug", "optional", help="write a debug log; categories such as api, or !api"),
    Flag("--debug-file", "debug_file", help="where the debug log is written"),
    Flag("--debug-to-stderr", "debug_to_stderr", "switch", help="write the debug log to stderr"),
    Flag("-v --version", "version", "switch", help="print the version"),
    Flag("-h --help", "help", "switch", help="print this help"),
    # Accepted without effect, because the CLI accepts them without a terminal too
    Flag("--no-chrome", "no_chrome", "switch", help="no browser integration, which is the default"),
    _ignored("--chrome", "browsers are not supported"),
    _ignored("--ide", "editors are not supported"),
    # Refused
    _refused("--autocompact", "set autoCompactEnabled, or run /compact"),
    _refused("--await-claim", _HOSTED),
    _refused("--bg --background", _TERMINAL, "switch"),
    _refused("--brief", _TERMINAL, "switch"),
    _refused("--channels", _HOSTED),
    _refused("--cloud --remote", _HOSTED),
    _refused("--desktop", _TERMINAL, "switch"),
    _refused("--environment", _HOSTED),
    _refused("--ax-screen-reader", _TERMINAL, "switch"),
    _refused("--plugin-url", "plugins are loaded from folders; use --plugin-dir"),
    _refused("--remote-control --rc", _HOSTED),
    _refused("--remote-control-session-name-prefix", _HOSTED),
    _refused("--restricted", "use --setting-sources= and --permission-mode", "switch"),
    _refused("--safe-mode", "use --setting-sources= and --permission-mode", "switch"),
    _refused("--sdk-url", _HOSTED),
    _refused("--system-prompt-snapshot", "the system prompt is made for every request"),
    _refused("--teleport", _HOSTED),
    _refused("--tmux", _TERMINAL),
    _refused("-w --worktree", "create the worktree with git, and start there"),
)
