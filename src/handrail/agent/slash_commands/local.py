"""Commands that the agent answers itself, without the model: /compact, /clear, /cost, /model and others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from typing import Any, Final, Protocol, cast

from msgspec import Struct

from handrail.agent.extensions.command import Command
from handrail.agent.known_models import DEMO_MODEL, MODELS, NO_MODEL, facts_of
from handrail.agent.record.usage import Ledger
from handrail.agent.session import Session

__all__ = ["COMMANDS", "LOCAL", "TERMINAL_COMMANDS", "Actions", "Local", "cost_text"]

JsonObject = dict[str, Any]


class Actions(Protocol):
    """What local commands can read and do."""

    @property
    def session(self) -> Session: ...
    @property
    def ledger(self) -> Ledger: ...
    @property
    def started(self) -> float:
        """When the session started, by the monotonic clock."""
        ...

    def output_style(self) -> str:
        """The name of the output style in force."""
        ...

    def servers(self) -> list[JsonObject]:
        """The status of each MCP server."""
        ...

    def server_errors(self) -> list[JsonObject]:
        """The MCP servers that could not be configured, each with its `message`."""
        ...

    def memory_tokens(self) -> list[tuple[str, str, int]]: ...
    async def context_parts(self) -> dict[str, int]:
        """The tokens of the context window by category."""
        ...

    async def compact(self, instructions: str) -> None:
        """Compact the conversation in a separate turn."""
        ...

    async def clear(self) -> None:
        """Start a new conversation in a separate turn."""
        ...

    async def rename(self, title: str, *, source: str) -> None:
        """Give the session a title."""
        ...


class Local(Struct, frozen=True):
    """How a command is answered: by a text, or by lines that `answer` sends itself (`speaks`).

    `outcome` is reported to hosts if the command was not simply done.
    """

    command: Command
    answer: Callable[[Actions, str], Awaitable[str]]
    speaks: bool = False
    outcome: str = ""


# The conversation


async def _compact(actions: Actions, instructions: str) -> str:
    await actions.compact(instructions)
    return ""


async def _clear(actions: Actions, arguments: str) -> str:
    await actions.clear()
    return ""


async def _rename(actions: Actions, title: str) -> str:
    title, current = title.strip(), actions.session.title
    if not title:
        return f"This session is called {current!r}." if current else "Usage: /rename TITLE"
    await actions.rename(title, source="user")
    return f"This session is now called {title!r}."


# Usage


def cost_text(ledger: Ledger, started: float) -> str:
    """The cost and the usage of the session as text."""
    lines = [
        f"Total cost:            ${ledger.total_cost:.4f}",
        f"Total duration (API):  {_time(ledger.api_ms / 1000)}",
        f"Total duration (wall): {_time(monotonic() - started)}",
        f"Total code changes:    {ledger.lines_added} lines added, {ledger.lines_removed} lines removed",
    ]
    models = ledger.models()
    lines += ["Usage by model:"] if models else []
    lines += [
        f"  {name}: {entry['inputTokens']:,} input, {entry['outputTokens']:,} output,"
        f" {entry['cacheReadInputTokens']:,} cache read, {entry['cacheCreationInputTokens']:,} cache write"
        f" (${entry['costUSD']:.4f})"
        for name, entry in models.items()
    ]
    return "\n".join(lines)


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes}m {rest}s" if hours else f"{minutes}m {rest}s" if minutes else f"{rest}s"


async def _cost(actions: Actions, arguments: str) -> str:
    return cost_text(actions.ledger, actions.started)


async def _context(actions: Actions, arguments: str) -> str:
    model, parts = actions.session.model, await actions.context_parts()
    window = facts_of(model).context_window
    used = sum(parts.values()) - parts["Free space"] - parts["Autocompact buffer"]
    rows = [f"| {name} | {_short(tokens)} | {tokens / window:.1%} |" for name, tokens in parts.items() if tokens]
    lines = [
        "## Context Usage",
        "",
        f"**Model:** {model}  ",
        f"**Tokens:** {_short(used)} / {_short(window)} ({used / window:.0%})",
        "",
        "| Category | Tokens | Percentage |",
        "|----------|--------|------------|",
        *rows,
    ]
    files = [f"| {kind} | {path} | {_short(tokens)} |" for kind, path, tokens in actions.memory_tokens()]
    if files:
        lines += ["", "### Memory Files", "", "| Type | Path | Tokens |", "|------|------|--------|", *files]
    return "\n".join(lines)


def _short(tokens: int) -> str:
    for size, sign in ((1_000_000, "m"), (1_000, "k")):
        if tokens >= size:
            return f"{tokens / size:.1f}".removesuffix(".0") + sign
    return str(tokens)


# Settings in force

_SOURCES: Final = {
    "policySettings": "the organisation",
    "flagSettings": "--settings",
    "cliArg": "the command line",
    "command": "this command",
    "session": "this session",
    "localSettings": "the project, for you alone",
    "projectSettings": "the project",
    "userSettings": "your own settings",
}
"""The sources of rules, the strongest first."""


async def _model(actions: Actions, name: str) -> str:
    session, wanted = actions.session, name.strip()
    if session.is_demo:
        named = wanted and wanted not in ("default", DEMO_MODEL)
        return NO_MODEL.format(model=wanted) if named else f"The model is {DEMO_MODEL}, a script that costs nothing."
    if not wanted:
        known = "\n".join(f"- `{model.id}` ({model.name})" for model in MODELS)
        return f"The model is `{session.model}`. /model NAME chooses another; these are known:\n{known}"
    session.chosen_model = "" if wanted == "default" else wanted
    return f"Set model to {session.model}"


async def _mcp(actions: Actions, arguments: str) -> str:
    rows = [_server(entry) for entry in actions.servers()]
    rows += [f"- {entry['message']}" for entry in actions.server_errors()]
    return "\n".join(["MCP servers:", *rows]) if rows else "No MCP servers are configured."


def _server(entry: JsonObject) -> str:
    row = f"- {entry['name']}: {entry['status']}"
    if "tools" in entry:
        row += f", {len(cast('list[Any]', entry['tools']))} tools"
    return f"{row} ({entry['error']})" if entry.get("error") else row


async def _permissions(actions: Actions, arguments: str) -> str:
    state = actions.session.circumstances
    lines = [f"Mode: {state.mode}"]
    for scope, words in _SOURCES.items():
        rules = [rule for rule in state.rules if rule.scope == scope]
        lines += [f"\nFrom {words}:"] if rules else []
        lines += [f"- {rule.behavior} `{rule.rule}`" + (" (cannot be read)" if rule.broken else "") for rule in rules]
    withheld = actions.session.settings.withheld
    lines += ["\nNot in force, because the folder is not trusted:"] if withheld else []
    lines += [f"- {rule.behavior} `{rule.rule}`" for rule in withheld]
    if len(lines) == 1:
        lines.append("No rules are in force.")
    if state.anchors.additional:
        lines.append(f"\nMore folders: {', '.join(state.anchors.additional)}")
    return "\n".join(lines)


async def _config(actions: Actions, arguments: str) -> str:
    session = actions.session
    files = [file.place.path or file.place.scope for file in session.loaded.files if file.values]
    lines = [
        f"Model: {session.model}",
        f"Permission mode: {session.mode}",
        f"Output style: {actions.output_style()}",
        f"Keys that are set: {', '.join(sorted(session.settings.values)) or 'none'}",
        f"Read from: {', '.join(files) or 'no file'}",
    ]
    return "\n".join(lines)


async def _fast(actions: Actions, arguments: str) -> str:
    return "Fast mode is not available here; /model NAME chooses a faster model."


async def _effort(actions: Actions, level: str) -> str:
    session, wanted = actions.session, level.strip()
    levels = facts_of(session.model).efforts
    if not levels:
        return f"{session.model} does not take effort levels."
    if wanted not in levels:
        now = session.effort_for(session.model) or "the model's default"
        return f"The effort level is {now}. Usage: /effort <{'|'.join(levels)}>"
    session.effort_level = wanted
    return f"Set effort level to {wanted}"


async def _agents(actions: Actions, arguments: str) -> str:
    return (
        "Agents are Markdown files in .claude/agents (this project) and ~/.claude/agents (all projects)."
        " Ask for a new one, or edit the files."
    )


async def _output_style(actions: Actions, arguments: str) -> str:
    return f"The output style is {actions.output_style()}. The setting `outputStyle` chooses another."


def _unavailable(name: str) -> Callable[[Actions, str], Awaitable[str]]:
    async def answer(actions: Actions, arguments: str) -> str:
        return f"/{name} isn't available in this environment."

    return answer


async def _nothing(actions: Actions, arguments: str) -> str:
    return ""


def _command(name: str, description: str = "", hint: str = "", *, hidden: bool = False) -> Command:
    return Command(name, description, hint, local=True, hidden=hidden)


_ALL: Final = (
    Local(_command("compact", "Replace the conversation by a summary", "[what to keep]"), _compact, speaks=True),
    Local(_command("clear", "Begin a new conversation"), _clear, speaks=True),
    Local(_command("rename", "Give this session a title", "TITLE"), _rename),
    Local(_command("cost", "The cost of this session"), _cost),
    Local(_command("usage", "The usage of this session"), _cost),
    Local(_command("context", "How full the window is, and of what"), _context),
    Local(_command("model", "Show the model, or choose another", "[NAME]"), _model),
    Local(_command("mcp", "List the MCP servers and their status"), _mcp),
    Local(_command("permissions", "Show the rules in force and their sources"), _permissions),
    Local(_command("config", "Show what is set, and where"), _config),
    Local(_command("effort", "Show the effort level, or choose another", "[LEVEL]"), _effort),
    Local(_command("agents", "The places of agent files"), _agents),
    Local(_command("output-style", "Show the output style"), _output_style),
    Local(_command("fast", "Say whether there is a fast mode", hidden=True), _fast),
    Local(_command("stats", hidden=True), _cost),
    Local(_command("settings", hidden=True), _config),
    Local(_command("keybindings-help", "For a terminal; empty elsewhere"), _nothing),
    Local(_command("debug", "For a terminal; empty elsewhere"), _nothing),
)
_TERMINAL: Final = (
    "add-dir advisor allowed-tools app branch brief btw bug cd chrome continue copy desktop diff exit export"
    " extra-usage feedback fork help hooks ide install-github-app keybindings login logout memory mobile plan plugin"
    " plugins privacy-settings quit rate-limit-options remote-control resume rewind sandbox skills status statusline"
    " tasks terminal-setup theme upgrade vim voice"
).split()
"""Commands of the CLI for a person at a terminal. They are answered here, so that no model has to guess at them."""
_UNAVAILABLE: Final = tuple(
    Local(_command(name, hidden=True), _unavailable(name), outcome="unavailable_headless") for name in _TERMINAL
)
_OTHER_NAMES: Final = tuple(Local(_command(name, hidden=True), _clear, speaks=True) for name in ("new", "reset"))
LOCAL: Final[Mapping[str, Local]] = {local.command.name: local for local in (*_ALL, *_OTHER_NAMES, *_UNAVAILABLE)}
COMMANDS: Final = tuple(local.command for local in _ALL)
TERMINAL_COMMANDS: Final = tuple(local.command for local in (*_OTHER_NAMES, *_UNAVAILABLE))
