"""Loading what the first prompt will need, while the host is not waiting. In: an engine that was initialized."""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from handrail.agent.engine import Engine
    from handrail.agent.tools.registry import Tools

__all__ = ["warm"]

MODULES: Final = ("turn", "toolbox", "thread", "turn_lines", "prompt.mentions", "prompt.system", "mcp.hub", "hooks.run")
PAUSE: Final = 0.05
"""Seconds after which the answer to the host is on its way; a prompt that comes sooner loads for itself."""


async def warm(engine: Engine) -> None:
    """Load what turns, tools and the model need, in a thread."""
    await asyncio.sleep(PAUSE)
    if engine.turn is None and not len(engine.queue):
        await asyncio.to_thread(_import)
        await asyncio.to_thread(_load, engine.toolbox.known, engine.toolbox.names())
        await engine.model.warm()


def _import() -> None:
    for name in MODULES:
        importlib.import_module(f"handrail.agent.{name}")


def _load(tools: Tools, names: list[str]) -> None:
    for name in names:
        if name in tools:
            tools[name].schema()
