"""Sessions whose record is lost. In: a server that began a new store. Out: those of which a CLI has a transcript."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from handrail.bridge.errors import BridgeError

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge

__all__ = ["rebuild"]

log = logging.getLogger("handrail.bridge")
MOST: Final = 1000
"""So many of the newest are taken up at once; older ones when somebody asks for them."""


async def rebuild(bridge: Bridge) -> int:
    """Take up sessions with their past, the newest first, beside all else. Out: how many."""
    count = 0
    for info in await bridge.terminal.list(limit=MOST):
        try:
            await bridge.session_or_import(info.id)
            count += 1
        except BridgeError as error:  # in a folder where none may work here, or not to be read
            log.info("session %s was not taken up: %s", info.id, error)
    log.error("%d sessions were taken up again from the transcripts of the CLI", count)
    return count
