"""Every command of the bridge: the handler classes, and the rows collected from them."""

from __future__ import annotations

from typing import Final

from handrail.bridge.commands.controls import ControlCommands
from handrail.bridge.commands.lifecycle import LifecycleCommands
from handrail.bridge.commands.mcp import McpCommands
from handrail.bridge.commands.prompts import PromptCommands
from handrail.bridge.commands.push import PushCommands
from handrail.bridge.commands.queries import QueryCommands
from handrail.bridge.commands.start import StartCommands
from handrail.bridge.commands.table import Command, rows_of

__all__ = ["COMMANDS"]

COMMANDS: Final[dict[str, Command]] = rows_of(
    StartCommands, PromptCommands, ControlCommands, McpCommands, QueryCommands, LifecycleCommands, PushCommands
)
