"""Loading what the first prompt will need, while the host is not waiting. In: an engine that was initialized."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from handrail.agent.engine import Engine
    from handrail.agent.tools.registry import Tools

__all__ = ["warm"]

PAUSE: Final = 0.05
"""Seconds after which the answer to the host is on its way; a prompt that comes sooner loads for itself."""


async def warm(engine: Engine) -> None:
    """Load tools and model, in a thread."""
    await asyncio.sleep(PAUSE)
    if engine.turn is None and not len(engine.queue):
        await asyncio.to_thread(_load, engine.toolbox.known, engine.toolbox.names())
        await engine.model.warm()


def _load(tools: Tools, names: list[str]) -> None:
    for name in names:
        if name in tools:
            tools[name].schema()
