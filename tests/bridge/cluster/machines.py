"""Machines for tests: a connection to NATS each, with a lease that can be kept, given back, or cut off."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Literal, cast

import nats
from nats.aio.client import Client
from nats.js import JetStreamContext

from handrail.bridge.cluster.leases.membership import Membership
from handrail.bridge.cluster.leases.records import Node, Timing
from handrail.bridge.cluster.store.layout import lay_out
from handrail.testing import NatsServer
from tests.faults.fault_proxy import FaultProxy

SHORT: Final = Timing(ttl=2.0, renew=0.2, fence_after=1.5)
"""For what happens once a lease is over. A server counts in whole seconds."""


async def _quiet(_: Exception) -> None:
    """That a connection breaks is what these tests are about."""


async def disconnected(connection: Client) -> None:
    """Closed; where the server is gone meanwhile, the client says so once more."""
    with contextlib.suppress(OSError):
        await connection.close()


async def connected(url: str) -> Client:
    return await nats.connect(
        url, reconnect_time_wait=0.05, max_reconnect_attempts=-1, error_cb=_quiet, ping_interval=1
    )


@asynccontextmanager
async def laid_out(folder: Path) -> AsyncGenerator[NatsServer]:
    """A server on which machines can work."""
    async with asyncio.timeout(60), NatsServer(folder) as server:
        connection = await connected(server.url)
        await lay_out(connection.jetstream(timeout=5), 1)
        await connection.close()
        yield server


class _Watched:
    """What a reader gives, looked at on its way."""

    def __init__(self, reader: asyncio.StreamReader, cable: Cable) -> None:
        self._reader, self._cable = reader, cable

    async def read(self, most: int) -> bytes:
        data = await self._reader.read(most)
        if self._cable.stall_at and self._cable.stall_at in data:
            self._cable.stall_at = b""
            self._cable.stall()
            self._cable.stalled.set()
        return data


class Cable(FaultProxy):
    """To NATS. It can be pulled out and plugged in again; with `stall_at` it stalls as soon as these bytes come by."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.stall_at, self.stalled = b"", Happening()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, to_client: int) -> None:
        await super()._pass(cast("asyncio.StreamReader", _Watched(reader, self)), writer, to_client)

    def pull(self) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()

    async def plug(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)


class Machine:
    """One of them. `fields` is what it tells of itself."""

    def __init__(self, connection: Client, cable: Cable, name: str, fields: dict[str, Any], **options: Any) -> None:
        self.connection, self.cable, self.name, self.fields = connection, cable, name, fields
        self.membership = Membership(self.js, lambda: Node(name=name, boot="", **self.fields), **options)

    @property
    def js(self) -> JetStreamContext:
        return self.connection.jetstream(timeout=2)

    @property
    def nodes(self) -> dict[str, Node]:
        return self.membership.nodes

    async def dies(self) -> None:
        """Without a word to NATS, as in a power cut: its lease goes on until it has run out."""
        await disconnected(self.connection)
        await self.membership.close()

    async def until(self, fact: Callable[[], object]) -> None:
        """Wait for something that it is told of other machines."""
        changed = asyncio.Event()

        def tell(*_: Node | None) -> None:
            changed.set()

        self.membership.on_change.append(tell)
        async with asyncio.timeout(20):
            while not fact():
                changed.clear()
                await changed.wait()
        self.membership.on_change.remove(tell)


@asynccontextmanager
async def machine(
    server: NatsServer, name: str, fields: dict[str, Any] | None = None, *, cabled: bool = False, **options: Any
) -> AsyncGenerator[Machine]:
    """It is not in the cluster before its membership is opened. Only where it is `cabled` it can be cut off."""
    async with Cable(server.port) as cable:
        connection = await connected(f"nats://127.0.0.1:{cable.port}" if cabled else server.url)
        made = Machine(connection, cable, name, fields or {}, **options)
        try:
            yield made
        finally:
            await made.membership.close()
            await disconnected(connection)


class Happening(asyncio.Event):
    """One that comes, or the test fails."""

    async def wait(self) -> Literal[True]:
        async with asyncio.timeout(30):
            return await super().wait()


def happened(handlers: list[Any]) -> Happening:
    """Set once these are told."""
    event = Happening()

    async def told() -> None:
        event.set()

    handlers.append(told)
    return event
