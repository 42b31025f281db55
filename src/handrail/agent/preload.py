"""Loads what the first prompt needs while the host is not waiting for an answer."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from handrail.import_bundle import save as save_bundle

if TYPE_CHECKING:
    from handrail.agent.conversation.toolbox import Toolbox
    from handrail.agent.models.base import Model

__all__ = ["import_modules", "preload"]

MODULES: Final = (
    "conversation.turn",
    "conversation.actions",
    "conversation.toolbox",
    "conversation.thread",
    "prompt.system",
    "mcp.hub",
    "hooks.run",
    "controls.conversation",
    "controls.session",
)
PAUSE: Final = 0.05
"""Seconds after which the answer to the handshake is sent. A prompt that comes earlier loads what it needs itself."""


async def preload(
    is_idle: Callable[[], bool],
    toolbox: Callable[[], Toolbox],
    model: Callable[[], Model],
    resume: Callable[[], Awaitable[None]],
) -> None:
    """Load what turns, tools and the model need, in a thread, and the conversation of a resumed session."""
    await asyncio.sleep(PAUSE)
    if is_idle():
        await asyncio.to_thread(save_bundle)  # before more is loaded, which starts do not need
        await asyncio.to_thread(import_modules)
        await asyncio.to_thread(_load_tools, toolbox())
        await model().warm()
        await resume()


def import_modules() -> None:
    """Import the modules of turns and tools."""
    importlib.import_module("handrail.schema.system_table")
    for name in MODULES:
        importlib.import_module(f"handrail.agent.{name}")


def _load_tools(toolbox: Toolbox) -> None:
    for name in toolbox.names():
        if name in toolbox.known:
            toolbox.known[name].schema()
