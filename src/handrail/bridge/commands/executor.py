"""Every command of the bridge, and the executor that runs each once.

The same command id gives the same receipt, also after the server was killed: an effect and its receipt are persisted
in one transaction, or repeating the effect changes nothing. A refusal is a receipt too. Only a command that could not
be accepted at all (the store failed, the server is stopping) may be sent again under its id. Commands that only read
are not persisted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import msgspec
from msgspec import Struct

from handrail.bridge.commands.controls import ControlCommands
from handrail.bridge.commands.lifecycle import LifecycleCommands
from handrail.bridge.commands.mcp import McpCommands
from handrail.bridge.commands.prompts import PromptCommands
from handrail.bridge.commands.push import PushCommands
from handrail.bridge.commands.queries import QueryCommands
from handrail.bridge.commands.router import Router
from handrail.bridge.commands.start import StartCommands
from handrail.bridge.commands.table import Call, Command, bind, done, refused, rows_of
from handrail.bridge.errors import BridgeError, ClusterAway, CommandRefused, Fenced, StoreFailed
from handrail.bridge.store.base import EventLog, Receipt
from handrail.client.errors import HandrailError, InternalError

__all__ = ["COMMANDS", "Commands"]

log = logging.getLogger("handrail.bridge")
COMMANDS: Final[dict[str, Command]] = rows_of(
    StartCommands, PromptCommands, ControlCommands, McpCommands, QueryCommands, LifecycleCommands, PushCommands
)
TEMPORARY: Final = frozenset({"closing", "elsewhere", "unreachable"})
"""Refusals that are not persisted: another machine, or this one later, may still do the command."""
Run = Callable[[Call, Command, Struct], Awaitable[bytes]]


class Commands:
    """The executor. `handlers` are instances of the classes in `COMMANDS`; `events` persists the receipts."""

    def __init__(self, events: EventLog, router: Router, handlers: Iterable[object]) -> None:
        self._events, self._router = events, router
        self._handlers = bind(*handlers)
        if missing := COMMANDS.keys() - self._handlers.keys():
            raise ValueError(f"no handler for {', '.join(sorted(missing))}")
        self._running: dict[str, asyncio.Task[bytes]] = {}

    async def do(self, device: str, id: str, name: str, fields: bytes, *, by: str, scopes: frozenset[str]) -> bytes:
        """Run a command of a client, on the machine it belongs to. Returns the receipt as JSON."""
        return await self._once(Call(f"{device}/{id}", by, scopes), name, fields, self._route)

    async def do_here(self, call: Call, name: str, fields: bytes) -> bytes:
        """Run a command that another machine has forwarded; it is not forwarded again."""
        return await self._once(call, name, fields, self._run)

    async def _once(self, call: Call, name: str, fields: bytes, run: Run) -> bytes:
        """A duplicate that arrives while the command runs waits for the same receipt."""
        task = self._running.get(call.key)
        if task is None:
            task = asyncio.create_task(self._answer(call, name, fields, run), name=f"handrail {name}")
            self._running[call.key] = task
            task.add_done_callback(lambda _: self._running.pop(call.key, None))
        return await asyncio.shield(task)

    async def _answer(self, call: Call, name: str, fields: bytes, run: Run) -> bytes:
        try:
            if (known := await self._events.receipt(call.key)) is not None:
                return known
            row, decoded = self._checked(call, name, fields)
        except CommandRefused as refusal:  # not persisted: the same input is refused again
            return refused(refusal.code, refusal.message)
        except StoreFailed as failure:
            return _not_persisted(failure)
        return await run(call, row, decoded)

    async def _route(self, call: Call, row: Command, fields: Struct) -> bytes:
        try:
            receipt = await self._router.forward(call, row, fields)
        except CommandRefused as refusal:
            return refused(refusal.code, refusal.message)
        return receipt if receipt is not None else await self._run(call, row, fields)

    async def _run(self, call: Call, row: Command, fields: Struct) -> bytes:
        try:
            if not row.reads and (known := await self._router.earlier_receipt(call, row, fields)) is not None:
                return known
            answer = await self._handlers[row.name](call, fields)
            if row.reads:
                return done(answer or {})
            if row.keeps:
                return await self._events.receipt(call.key) or done(answer or {})
            return await self._persisted(call, done(answer or {}))
        except StoreFailed as failure:
            return _not_persisted(failure)
        except (ClusterAway, Fenced) as failure:
            return refused("cluster_away" if isinstance(failure, ClusterAway) else "elsewhere", str(failure))
        except CommandRefused as refusal:
            receipt = refused(refusal.code, refusal.message)
            return receipt if row.reads or refusal.code in TEMPORARY else await self._persisted(call, receipt)
        except InternalError:
            return await self._bug(call, row)
        except HandrailError as error:  # the CLI refused, or has exited
            receipt = refused("failed" if isinstance(error, BridgeError) else "cli", str(error))
            return receipt if row.reads else await self._persisted(call, receipt)
        except Exception:
            return await self._bug(call, row)

    async def _bug(self, call: Call, row: Command) -> bytes:
        log.exception("command %s failed", row.name)
        return await self._persisted(call, refused("internal", f"{row.name} failed; see the server's log"))

    async def _persisted(self, call: Call, receipt: bytes) -> bytes:
        """Persist a receipt and return it, or the one already persisted: a command may fail after its effect.

        If the store fails now, the receipt is returned all the same: the effect has happened.
        """
        try:
            await self._events.append("", [], Receipt(call.key, receipt))
            return await self._events.receipt(call.key) or receipt
        except StoreFailed as failure:
            log.error("cannot persist a receipt: %s", failure)
            return receipt

    def _checked(self, call: Call, name: str, fields: bytes) -> tuple[Command, Struct]:
        row = COMMANDS.get(name)
        if row is None:
            raise CommandRefused("unknown_command", f"unknown command {name!r}; the commands are {', '.join(COMMANDS)}")
        if row.scope not in call.scopes:
            raise CommandRefused("forbidden", f"{name} needs the scope {row.scope!r}, which this device lacks")
        try:
            return row, msgspec.json.decode(fields or b"{}", type=row.fields)
        except msgspec.MsgspecError as error:
            raise CommandRefused("bad_fields", f"{name}: {error}") from None


def _not_persisted(failure: StoreFailed) -> bytes:
    return refused(failure.code, f"the command was not executed because it could not be persisted: {failure}")
