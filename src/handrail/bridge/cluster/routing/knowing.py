"""What every machine is asked for. In: a word of the table, fields. Out: what this machine knows; None for nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from handrail.bridge.cluster.routing.asks import Know
from handrail.bridge.commands.folders import folders_here
from handrail.bridge.errors import BridgeError

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge

__all__ = ["KNOWN", "known_here"]

JsonObject = dict[str, Any]
Knowing = Callable[["Bridge", JsonObject], Awaitable[Any]]


async def known_here(bridge: Bridge, ask: Know) -> Any:
    """What this machine knows. What it cannot say now, or was never heard of, is nothing."""
    try:
        return await KNOWN[ask.what](bridge, ask.fields)
    except (BridgeError, KeyError, TypeError, ValueError):
        return None


async def _search(bridge: Bridge, fields: JsonObject) -> Any:
    assert bridge.cluster is not None
    found = await bridge.cluster.local_log.search(fields["words"], limit=fields["limit"], session=fields["session"])
    return msgspec.to_builtins(found)


async def _terminal(bridge: Bridge, fields: JsonObject) -> Any:
    return await bridge.terminal.rows(fields["limit"])


async def _usage(bridge: Bridge, fields: JsonObject) -> Any:
    return await bridge.usage.rows(fields["days"])


async def _folders(bridge: Bridge, fields: JsonObject) -> Any:
    return await folders_here(bridge, fields["below"])


KNOWN: Final[dict[str, Knowing]] = {"search": _search, "terminal": _terminal, "usage": _usage, "folders": _folders}
"""By the words that may be asked for."""
