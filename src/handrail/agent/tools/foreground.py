"""Tool calls that a turn waits for, and that a host can move to the background."""

from __future__ import annotations

import asyncio
from typing import TypeVar

__all__ = ["Foreground", "MovedToBackground"]

T = TypeVar("T")


class MovedToBackground(Exception):
    """The host moved the call to the background. Its work is still running."""


class Foreground:
    """The calls of one thread that can be moved, by the id of the tool call."""

    def __init__(self) -> None:
        self._calls: dict[str, asyncio.Future[None]] = {}

    async def wait(self, work: asyncio.Task[T], call_id: str) -> T:
        """Wait for the work of a call and return its result.

        Raises MovedToBackground if the call is moved; the work continues then. If the wait is cancelled, the work is
        cancelled too.
        """
        moved = self._calls[call_id] = asyncio.get_running_loop().create_future()
        try:
            await asyncio.wait({work, moved}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            work.cancel()
            await asyncio.wait([work])
            raise
        finally:
            del self._calls[call_id]
            moved.cancel()
        if work.done():
            return work.result()
        raise MovedToBackground

    def move(self, call_id: str | None = None) -> list[str]:
        """Move one call, or all of them. Returns the ids of the moved calls."""
        found = [id for id, moved in self._calls.items() if call_id in (None, id) and not moved.done()]
        for id in found:
            self._calls[id].set_result(None)
        return found
