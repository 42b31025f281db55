"""Commands about what is in force: /model, /mcp, /permissions, /config, and those that need a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from handrail.agent.models.prices import MODELS
from handrail.agent.slash_commands.command import Command, Local

if TYPE_CHECKING:
    from handrail.agent.engine import Engine

__all__ = ["COMMANDS"]

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
"""Where a rule may come from, the strongest first."""


async def _model(engine: Engine, name: str) -> str:
    session, wanted = engine.session, name.strip()
    if not wanted:
        known = "\n".join(f"- `{model.id}` ({model.name})" for model in MODELS)
        return f"The model is `{session.model}`. /model NAME chooses another; these are known:\n{known}"
    session.chosen_model = "" if wanted == "default" else wanted
    return f"Set model to {session.model}"


async def _mcp(engine: Engine, arguments: str) -> str:
    rows = [_server(entry) for entry in engine.hub.status()]
    rows += [f"- {entry['message']}" for entry in engine.hub.errors()]
    return "\n".join(["MCP servers:", *rows]) if rows else "There are no MCP servers."


def _server(entry: dict[str, Any]) -> str:
    row = f"- {entry['name']}: {entry['status']}"
    if "tools" in entry:
        row += f", {len(cast('list[Any]', entry['tools']))} tools"
    return f"{row} ({entry['error']})" if entry.get("error") else row


async def _permissions(engine: Engine, arguments: str) -> str:
    state = engine.session.circumstances
    lines = [f"Mode: {state.mode}"]
    for scope, words in _SOURCES.items():
        rules = [rule for rule in state.rules if rule.scope == scope]
        lines += [f"\nFrom {words}:"] if rules else []
        lines += [f"- {rule.behavior} `{rule.rule}`" + (" (cannot be read)" if rule.broken else "") for rule in rules]
    withheld = engine.session.settings.withheld
    lines += ["\nNot in force, for the folder is not trusted:"] if withheld else []
    lines += [f"- {rule.behavior} `{rule.rule}`" for rule in withheld]
    if len(lines) == 1:
        lines.append("No rules are in force.")
    if state.anchors.additional:
        lines.append(f"\nMore folders: {', '.join(state.anchors.additional)}")
    return "\n".join(lines)


async def _config(engine: Engine, arguments: str) -> str:
    session = engine.session
    files = [file.place.path or file.place.scope for file in session.loaded.files if file.values]
    lines = [
        f"Model: {session.model}",
        f"Permission mode: {session.mode}",
        f"Output style: {engine.extensions.output_style}",
        f"Keys that are set: {', '.join(sorted(session.settings.values)) or 'none'}",
        f"Read from: {', '.join(files) or 'no file'}",
    ]
    return "\n".join(lines)


async def _fast(engine: Engine, arguments: str) -> str:
    return "Fast mode is not available here; /model NAME chooses a faster model."


async def _help(engine: Engine, arguments: str) -> str:
    return "/help isn't available in this environment."


async def _exit(engine: Engine, arguments: str) -> str:
    return "/exit isn't available in this environment."


async def _nothing(engine: Engine, arguments: str) -> str:
    return ""


COMMANDS: Final = (
    Command("model", "Show the model, or choose another", "[NAME]", Local(_model)),
    Command("mcp", "List the MCP servers and how they stand", local=Local(_mcp)),
    Command("permissions", "Show the rules in force, by where they come from", local=Local(_permissions)),
    Command("config", "Show what is set, and where", local=Local(_config)),
    Command("fast", "Say whether there is a fast mode", local=Local(_fast), hidden=True),
    Command("help", local=Local(_help, outcome="unavailable_headless"), hidden=True),
    Command("exit", local=Local(_exit, outcome="unavailable_headless"), hidden=True),
    Command("keybindings-help", "For a terminal; empty elsewhere", local=Local(_nothing)),
    Command("debug", "For a terminal; empty elsewhere", local=Local(_nothing)),
)
