"""Settings that apply to all machines of a cluster."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct
from nats.errors import Error
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError

from handrail.bridge.cluster.nats.names import SETTINGS
from handrail.bridge.cluster.transfer.object_store import NO_MESSAGE, is_name
from handrail.bridge.errors import ClusterAway

__all__ = ["SharedSettings"]

CACHE_SECONDS: Final = 2.0
ANSWER_SECONDS: Final = 1.0
"""Timeout of a read: a user is waiting for a session to start."""
RETRY_SECONDS: Final = 10.0
"""How long reads fail at once after NATS did not answer."""


class _Cached(Struct, frozen=True):
    """A value, None if unset, valid until `until`. `away`: NATS did not answer."""

    until: float
    value: bytes | None = None
    away: bool = False


class SharedSettings:
    """Values in the settings bucket, cached for two seconds."""

    def __init__(self, js: JetStreamContext, clock: Callable[[], float] = time.monotonic) -> None:
        self._js, self._clock = js, clock
        self._cache: dict[str, _Cached] = {}

    def _subject(self, name: str) -> str:
        if not is_name(name):
            raise ValueError(f"invalid setting name {name[:60]!r}")
        return f"$KV.{SETTINGS}.{name}"

    async def get(self, name: str) -> bytes | None:
        """Read a setting; None if it is unset. Raises ClusterAway within a second if NATS does not answer."""
        subject, cached = self._subject(name), self._cache.get(name)
        if cached is None or cached.until <= self._clock():
            cached = self._cache[name] = await self._read(subject)
        if cached.away:
            raise ClusterAway("NATS does not answer, so the settings for all machines are unknown")
        return cached.value

    async def _read(self, subject: str) -> _Cached:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                found = await self._js.get_last_msg(f"KV_{SETTINGS}", subject)
        except (Error, TimeoutError) as error:
            unset = isinstance(error, NotFoundError) and error.err_code == NO_MESSAGE
            return _Cached(self._clock() + (CACHE_SECONDS if unset else RETRY_SECONDS), away=not unset)
        return _Cached(self._clock() + CACHE_SECONDS, found.data or None)

    async def put(self, name: str, value: bytes) -> None:
        """Change a setting. Raises ClusterAway if NATS does not accept it."""
        try:
            await self._js.publish(self._subject(name), value, stream=f"KV_{SETTINGS}")
        except Error as error:
            self._cache.pop(name, None)
            raise ClusterAway(f"NATS does not answer, so settings for all machines cannot change: {error}") from error
        self._cache[name] = _Cached(self._clock() + CACHE_SECONDS, value)
