"""Waits for a store that cannot take something now. In: how to put it there. Out: once it is there."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final

from handrail.bridge.errors import StoreFailed

__all__ = ["until_kept"]

log = logging.getLogger("handrail.bridge")
PAUSE: Final = 1.0
LONGEST = 600.0
"""Seconds. Who has made room by then goes on as if nothing had been."""


async def until_kept(put: Callable[[], Awaitable[None]], whose: str, given_up: Callable[[], bool]) -> None:
    """Try until it works: what a CLI said is not lost, rather the CLI waits. StoreFailed once it is given up.

    A store that is full, or that another has locked, may be well again; of one whose disk has failed nobody knows.
    """
    end = time.monotonic() + LONGEST
    while True:
        try:
            return await put()
        except StoreFailed as failure:
            if failure.lasting or given_up() or time.monotonic() >= end:
                raise
            log.error("session %s waits for the store: %s", whose, failure)
            await asyncio.sleep(PAUSE)
