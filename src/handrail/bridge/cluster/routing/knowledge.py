"""Answers of this machine to requests that are sent to all machines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from handrail.bridge.cluster.routing.requests import Know
from handrail.bridge.commands.router import Alone
from handrail.bridge.errors import BridgeError

__all__ = ["Knowledge"]

JsonObject = dict[str, Any]


class Knowledge:
    """Answers by the name of the request."""

    def __init__(self, here: Alone) -> None:
        self._here = here
        self._rows: dict[str, Callable[[JsonObject], Awaitable[Any]]] = {
            "search": self._search,
            "terminal": lambda fields: here.terminal_sessions(fields["limit"]),
            "usage": lambda fields: here.usage(fields["days"]),
            "folders": lambda fields: here.folders(fields["below"]),
        }

    async def answer(self, know: Know) -> Any:
        """The answer; None if this machine cannot answer."""
        try:
            return await self._rows[know.what](know.fields)
        except (BridgeError, KeyError, TypeError, ValueError):
            return None

    async def _search(self, fields: JsonObject) -> Any:
        found = await self._here.search(fields["words"], limit=fields["limit"], session=fields["session"])
        return msgspec.to_builtins(found)
