"""Does commands. In: a name, fields and the id that a client gave it. Out: a receipt.

A command is done once: the same id gives the same receipt, also after the server was killed. What a command changes and
its receipt are on record together, or doing it twice is the same as doing it once. A refusal is a receipt too: what was
refused is not done later because it came again. Only what could not be taken at all just now, because the store failed
or the server was being stopped, may be sent again under its id. What only reads is not put on record: it is asked anew.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from handrail.bridge.commands.table import TABLE, Call, Command, done, refused
from handrail.bridge.errors import BridgeError, ClusterAway, CommandRefused, Fenced, StoreFailed
from handrail.bridge.store.base import Receipt
from handrail.client.errors import HandrailError

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge

__all__ = ["Commands"]

log = logging.getLogger("handrail.bridge")
FOR_NOW: Final = frozenset({"closing", "elsewhere", "unreachable"})
"""Refusals of a server that goes away, or that has not the session, or not any more: another one may do it."""
Doing = Callable[[Call, Command, Struct], Awaitable[bytes]]


class Commands:
    """Does commands, each once."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._under_way: dict[str, asyncio.Task[bytes]] = {}

    async def do(self, device: str, id: str, name: str, fields: bytes, *, by: str, scopes: frozenset[str]) -> bytes:
        """Do it, or say how it was done. Out: the receipt, as JSON."""
        return await self._once(Call(f"{device}/{id}", by, scopes), name, fields, self._do)

    async def do_here(self, call: Call, name: str, fields: bytes) -> bytes:
        """The same for a command that another machine has passed on: it goes no further."""
        return await self._once(call, name, fields, self._do_here)

    async def _once(self, call: Call, name: str, fields: bytes, doing: Doing) -> bytes:
        """Whoever sends a command again while it is being done waits for the same receipt."""
        task = self._under_way.get(call.key)
        if task is None:
            task = asyncio.create_task(self._answered(call, name, fields, doing), name=f"handrail {name}")
            self._under_way[call.key] = task
            task.add_done_callback(lambda _: self._under_way.pop(call.key, None))
        return await asyncio.shield(task)

    async def _answered(self, call: Call, name: str, fields: bytes, doing: Doing) -> bytes:
        try:
            if (known := await self._bridge.sessions.events.receipt(call.key)) is not None:
                return known
            row, given = self._checked(call, name, fields)
        except CommandRefused as refusal:  # whoever says the same again is refused again
            return refused(refusal.code, refusal.message)
        except StoreFailed as failure:
            return _not_now(failure)
        return await doing(call, row, given)

    async def _do(self, call: Call, row: Command, given: Struct) -> bytes:
        """Where it belongs to another machine, that one does it."""
        if (cluster := self._bridge.cluster) is not None:
            try:
                receipt = await cluster.routing.elsewhere(call, row, given)
            except CommandRefused as refusal:
                return refused(refusal.code, refusal.message)
            if receipt is not None:
                return receipt
        return await self._do_here(call, row, given)

    async def _do_here(self, call: Call, row: Command, given: Struct) -> bytes:
        events, name = self._bridge.sessions.events, row.name
        try:
            if (known := await self._done_elsewhere(call, row, given)) is not None:
                return known
            answer = await row.run(self._bridge, call, given)
            if row.reads:
                return done(answer or {})
            if row.keeps:
                return await events.receipt(call.key) or done(answer or {})
            return await self._kept(call, done(answer or {}))
        except StoreFailed as failure:
            return _not_now(failure)
        except (ClusterAway, Fenced) as failure:
            return refused("cluster_away" if isinstance(failure, ClusterAway) else "elsewhere", str(failure))
        except CommandRefused as refusal:
            receipt = refused(refusal.code, refusal.message)
            return receipt if row.reads or refusal.code in FOR_NOW else await self._kept(call, receipt)
        except HandrailError as error:  # the CLI refused, or has gone
            code = "failed" if isinstance(error, BridgeError) else "cli"
            receipt = refused(code, str(error))
            return receipt if row.reads else await self._kept(call, receipt)
        except Exception:
            log.exception("the command %s failed", name)
            return await self._kept(call, refused("internal", f"{name} could not be done: the server's log says why"))

    async def _done_elsewhere(self, call: Call, row: Command, given: Struct) -> bytes | None:
        """What another machine answered, if it did: a session that is taken up here brings its receipts along."""
        sessions = self._bridge.sessions
        if self._bridge.cluster is None or row.reads:
            return None
        for id in (getattr(given, "session", ""), call.session):
            if id and await sessions.index.get(id) is not None:
                await sessions.get(id)
        return await sessions.events.receipt(call.key)

    async def _kept(self, call: Call, receipt: bytes) -> bytes:
        """Put a receipt on record. Out: it, or the one that is there: a command may fail after it was done.

        Where the store fails just now, it is told all the same: what was done was done.
        """
        events = self._bridge.sessions.events
        try:
            await events.append("", [], Receipt(call.key, receipt))
            return await events.receipt(call.key) or receipt
        except StoreFailed as failure:
            log.error("a receipt could not be put on record: %s", failure)
            return receipt

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


def _not_now(failure: StoreFailed) -> bytes:
    return refused(failure.code, f"it cannot be put on record now, and was not done: {failure}")
