"""Follows a session from a prompt until the work that it started has ended.

Subagents that the turn left in the background are waited for, with the turn that reports on them; a command in the
background is not, for it may never end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from handrail.cli.turn_view import TurnView
from handrail.client.readers import FrameReader
from handrail.client.session import Session
from handrail.client.turn import Turn
from handrail.protocol import BadLine, Message, Request

__all__ = ["follow"]

REPORT_SECONDS = 5.0
"""How long the turn that reports on a subagent may take to begin."""


async def follow(
    session: Session,
    turn: Turn,
    frames: FrameReader,
    view: TurnView,
    *,
    show: Callable[[Message | BadLine], Awaitable[None]],
    arrived: Callable[[], None],
) -> None:
    """Pass on each message. `show` draws it; `arrived` is called for each permission request in its place."""
    reported = False
    while not (reported and _rests(session, turn, view)):
        try:
            async with asyncio.timeout(REPORT_SECONDS if _rests(session, turn, view) else None):
                direction, frame = await anext(frames)
        except (StopAsyncIteration, TimeoutError):
            return
        if direction == "out" and isinstance(frame, Request) and frame.subtype == "can_use_tool":
            arrived()
        elif direction == "out" and isinstance(frame, Message | BadLine):
            worked = bool(view.agents)
            await show(frame)
            ended = isinstance(frame, Message) and frame.type == "result"
            reported = ended or (reported and not (worked and not view.agents))


def _rests(session: Session, turn: Turn, view: TurnView) -> bool:
    return turn.done and not view.agents and not session.running
