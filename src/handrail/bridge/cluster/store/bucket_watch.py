"""Keeps a copy of a bucket current: reads everything once, then every change, and starts again after a failure."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from handrail.bridge.errors import BridgeError

__all__ = ["DELETE_MARKERS", "BucketWatch"]

log = logging.getLogger("handrail.bridge")

DELETE_MARKERS: Final = {"KV-Operation", "Nats-Marker-Reason"}
"""Headers of a message that replaces a deleted or expired value."""
_PAUSE: Final = 0.2


class BucketWatch:
    """A task that follows a bucket. `follow` reads until it fails, and calls `complete` when it has read everything."""

    def __init__(self, name: str, follow: Callable[[], Awaitable[None]]) -> None:
        self._name, self._follow = name, follow
        self._task: asyncio.Task[None] | None = None
        self._first: asyncio.Future[None] | None = None

    async def open(self) -> None:
        """Start, and wait until everything is read. If NATS is away, raises ClusterAway and retries in background."""
        self._first = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(), name=f"handrail watch of {self._name}")
        await self._first

    async def close(self) -> None:
        """Stop."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    @property
    def is_opening(self) -> bool:
        """Whether `open` still waits."""
        return self._first is not None and not self._first.done()

    def complete(self) -> None:
        """Everything was read."""
        if self._first is not None and not self._first.done():
            self._first.set_result(None)

    async def _run(self) -> None:
        while True:
            try:
                await self._follow()
            except BridgeError as error:
                log.info("watching of %s interrupted: %s", self._name, error)
                if self._first is not None and not self._first.done():
                    self._first.set_exception(error)
            except Exception:
                log.exception("watching of %s failed", self._name)
            await asyncio.sleep(_PAUSE)
