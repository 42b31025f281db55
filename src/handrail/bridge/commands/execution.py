"""Does commands. In: a name, fields and the id that a client gave it. Out: a receipt.

A command is done once: the same id gives the same receipt, also after the server was killed. What a command changes and
its receipt are on record together, or doing it twice is the same as doing it once.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from handrail.bridge.commands.table import TABLE, Call, Command, done, refused
from handrail.bridge.errors import BridgeError, CommandRefused, StoreFailed
from handrail.client.errors import HandrailError

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge

__all__ = ["Commands"]

log = logging.getLogger("handrail.bridge")


class Commands:
    """Does commands, each once."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._under_way: dict[str, asyncio.Task[bytes]] = {}

    async def do(self, device: str, id: str, name: str, fields: bytes, *, by: str, scopes: frozenset[str]) -> bytes:
        """Do it, or say how it was done. Out: the receipt, as JSON."""
        key = f"{device}/{id}"
        task = self._under_way.get(key)
        if task is None:
            call = Call(key, by, scopes)
            task = self._under_way[key] = asyncio.create_task(self._do(call, name, fields), name=f"handrail {name}")
            task.add_done_callback(lambda _: self._under_way.pop(key, None))
        return await asyncio.shield(task)

    async def _do(self, call: Call, name: str, fields: bytes) -> bytes:
        events = self._bridge.sessions.events
        if (known := await events.receipt(call.key)) is not None:
            return known
        try:
            row, given = self._checked(call, name, fields)
            answer = await row.run(self._bridge, call, given)
            if row.keeps:
                return await events.receipt(call.key) or done(answer or {})
            await events.append("", [], call.receipt(answer))
            return done(answer or {})
        except CommandRefused as refusal:
            return refused(refusal.code, refusal.message)
        except StoreFailed as failure:
            return refused(failure.code, f"it cannot be put on record now, and was not done: {failure}")
        except HandrailError as error:  # the CLI refused, or has gone
            return refused("failed" if isinstance(error, BridgeError) else "cli", str(error))
        except Exception:
            log.exception("the command %s failed", name)
            return refused("internal", f"{name} could not be done: the server's log says why")

    def _checked(self, call: Call, name: str, fields: bytes) -> tuple[Command, Struct]:
        row = TABLE.get(name)
        if row is None:
            raise CommandRefused("unknown_command", f"there is no command {name!r}: {', '.join(TABLE)}")
        if row.scope not in call.scopes:
            raise CommandRefused("forbidden", f"{name} needs the scope {row.scope!r}, which this device has not")
        try:
            return row, msgspec.json.decode(fields or b"{}", type=row.fields)
        except msgspec.MsgspecError as error:
            raise CommandRefused("bad_fields", f"{name}: {error}") from None
