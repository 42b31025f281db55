"""What was chosen for all machines. In: a name, a value. Out: the value that counts now, on any of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct
from nats.errors import Error
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError

from handrail.bridge.cluster.link.names import SETTINGS
from handrail.bridge.cluster.travel.pieces import NO_MESSAGE, is_name
from handrail.bridge.errors import ClusterAway

__all__ = ["SharedSettings"]

FRESH: Final = 2.0
"""Seconds for which an answer counts."""
PATIENCE: Final = 1.0
"""Seconds for an answer: somebody waits for a session to start."""
AWAY: Final = 10.0
"""Seconds until NATS is asked again, once it has not answered."""


class _Answer(Struct, frozen=True):
    """What NATS said, and until when nobody asks it again. `away`: nothing."""

    until: float
    value: bytes | None = None
    away: bool = False


class SharedSettings:
    """Values in one bucket."""

    def __init__(self, js: JetStreamContext, clock: Callable[[], float] = time.monotonic) -> None:
        self._js, self._clock = js, clock
        self._answers: dict[str, _Answer] = {}

    def _subject(self, name: str) -> str:
        if not is_name(name):
            raise ValueError(f"{name[:60]!r} cannot be the name of a setting")
        return f"$KV.{SETTINGS}.{name}"

    async def get(self, name: str) -> bytes | None:
        """The value; None where nobody has chosen one. ClusterAway, soon, where NATS does not answer."""
        subject, answer = self._subject(name), self._answers.get(name)
        if answer is None or answer.until <= self._clock():
            answer = self._answers[name] = await self._ask(subject)
        if answer.away:
            raise ClusterAway("NATS does not answer about what was chosen for all machines")
        return answer.value

    async def _ask(self, subject: str) -> _Answer:
        try:
            async with asyncio.timeout(PATIENCE):
                found = await self._js.get_last_msg(f"KV_{SETTINGS}", subject)
        except (Error, TimeoutError) as error:
            nobody_chose = isinstance(error, NotFoundError) and error.err_code == NO_MESSAGE
            return _Answer(self._clock() + (FRESH if nobody_chose else AWAY), away=not nobody_chose)
        return _Answer(self._clock() + FRESH, found.data or None)

    async def put(self, name: str, value: bytes) -> None:
        """Another value from now on. ClusterAway where NATS does not take it."""
        try:
            await self._js.publish(self._subject(name), value, stream=f"KV_{SETTINGS}")
        except Error as error:
            self._answers.pop(name, None)
            raise ClusterAway(f"NATS does not answer, and this holds for all machines: {error}") from error
        self._answers[name] = _Answer(self._clock() + FRESH, value)
