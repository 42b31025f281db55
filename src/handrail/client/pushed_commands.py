"""The slash commands of a `commands_changed` line, each under the name that runs it."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from handrail.protocol import Message
from handrail.schema.handshake import SlashCommand
from handrail.schema.messages import read_message
from handrail.schema.system_messages import CommandsChangedMessage

__all__ = ["pushed_commands"]

_SHOWN: Final = re.compile(r"(.+):(.+) \(MCP\)", re.DOTALL)
_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]")


def pushed_commands(message: Message, before: list[SlashCommand] | None) -> list[SlashCommand] | None:
    """Read the commands, leaving out entries of another shape; `before` if the line itself has another shape.

    CLI 2.1.325 pushes the prompt `greet` of the MCP server `rich` as `rich:greet (MCP)`, a name for display. It runs
    as `/mcp__rich__greet`, which is also how `system/init` lists it.
    """
    view = read_message(message.type, message.subtype, message.raw)
    if not isinstance(view, CommandsChangedMessage):
        return before
    found: list[SlashCommand] = []
    for entry in view.commands:
        try:
            command = msgspec.convert(entry, SlashCommand)
        except msgspec.ValidationError:
            continue
        found.append(msgspec.structs.replace(command, name=_run_name(command.name)))
    return found


def _run_name(name: str) -> str:
    shown: Any = _SHOWN.fullmatch(name)
    return f"mcp__{_OTHER.sub('_', shown[1])}__{_OTHER.sub('_', shown[2])}" if shown else name
