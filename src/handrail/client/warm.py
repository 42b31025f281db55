"""Prewarmed sessions: the CLI is started and initialized before the first prompt is known.

warm = await startup(Options(cwd="…"))
...
async for message in warm.query("Fix the failing test"): ...
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Sequence
from typing import Self

from handrail.client.errors import Disconnected, WarmSessionExpired
from handrail.client.options import Options
from handrail.client.prompts import Image, Prompt
from handrail.client.query import Query
from handrail.client.session import Session
from handrail.transport.base import Transport

__all__ = ["WarmSession", "startup"]

IDLE_TIMEOUT = 600.0
"""Seconds. An idle CLI holds about 170 MB."""


async def startup(
    options: Options | None = None, *, idle_timeout: float = IDLE_TIMEOUT, transport: Transport | None = None
) -> WarmSession:
    """Start a session and wait for its handshake. It is closed if it is not claimed within `idle_timeout` seconds.

    Raises what `Session.start` raises.
    """
    if not idle_timeout > 0:
        raise ValueError(f"idle_timeout must be a positive number of seconds, not {idle_timeout!r}")
    session = Session(options, transport=transport)
    await session.start()
    try:
        await session.ready()  # Options(wait_until_ready=False) must not hand out a cold session
    except BaseException:
        await session.close()
        raise
    return WarmSession(session, idle_timeout)


class WarmSession:
    """A started session without a prompt. Claim it once, with `claim` or `query`; `async with` closes it otherwise."""

    def __init__(self, session: Session, idle_timeout: float) -> None:
        self._session = session
        self._idle_timeout = idle_timeout
        self._claimed = False
        self._expired = False
        self._expiry = asyncio.create_task(self._expire(), name="handrail warm session")

    def claim(self) -> Session:
        """The running session; the caller closes it, with `async with` or `close`.

        Raises WarmSessionExpired, or Disconnected if the CLI has exited.
        """
        if self._claimed:
            raise RuntimeError("a warm session is claimed once; call startup() again")
        if self._expired:
            raise WarmSessionExpired(self._idle_timeout)
        if self._session.ending is not None:
            raise Disconnected(self._session.ending, "the prewarmed session ended before it was claimed")
        self._claimed = True
        self._expiry.cancel()
        return self._session

    def query(self, prompt: Prompt | AsyncIterable[Prompt], *, images: Sequence[Image] = ()) -> Query:
        """Claim the session for one query, which closes it."""
        return Query(prompt, self.claim(), images)

    async def close(self) -> None:
        """Close the session if it was not claimed. Idempotent."""
        if not self._claimed:
            self._expiry.cancel()
            await self._session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _expire(self) -> None:
        try:
            await asyncio.wait_for(self._session.wait_closed(), self._idle_timeout)
        except TimeoutError:
            self._expired = True
            await self._session.close()
