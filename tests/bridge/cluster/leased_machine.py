"""Machines with a separate NATS connection and a lease, which can be cut off from NATS."""

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

from handrail.bridge.cluster.configuration import Timing
from handrail.bridge.cluster.leases.lease import Node
from handrail.bridge.cluster.leases.membership import Membership
from handrail.bridge.cluster.store.layout import lay_out
from handrail.testing import NatsServer
from tests.faults.fault_proxy import FaultProxy

SHORT_LEASE: Final = Timing(ttl=2.0, renew=0.2, fence_after=1.5)
"""For tests that wait until a lease expires. NATS counts in whole seconds."""


async def _ignore(_: Exception) -> None:
    """Broken connections are part of these tests."""


async def disconnect(connection: Client) -> None:
    """Close a connection, whether or not its server is still running."""
    with contextlib.suppress(OSError):
        await connection.close()


async def connect(url: str) -> Client:
    return await nats.connect(
        url, reconnect_time_wait=0.05, max_reconnect_attempts=-1, error_cb=_ignore, ping_interval=1
    )


@asynccontextmanager
async def server_with_streams(folder: Path) -> AsyncGenerator[NatsServer]:
    """A NATS server with the streams of the bridge."""
    async with asyncio.timeout(60), NatsServer(folder) as server:
        connection = await connect(server.url)
        await lay_out(connection.jetstream(timeout=5), 1)
        await connection.close()
        yield server


class _StallingReader:
    """Passes data on and stalls the cable at the bytes of `stall_at`."""

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
    """The link to NATS. It can be pulled and plugged in; with `stall_at` it stalls as soon as these bytes pass."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.stall_at, self.stalled = b"", TimedEvent()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, to_client: int) -> None:
        await super()._pass(cast("asyncio.StreamReader", _StallingReader(reader, self)), writer, to_client)

    def pull(self) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()

    async def plug(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)


class LeasedMachine:
    """A machine with a lease. `fields` describe it in the list of machines."""

    def __init__(self, connection: Client, cable: Cable, name: str, fields: dict[str, Any], **options: Any) -> None:
        self.connection, self.cable, self.name, self.fields = connection, cable, name, fields
        self.membership = Membership(self.js, lambda: Node(name=name, boot="", **self.fields), **options)

    @property
    def js(self) -> JetStreamContext:
        return self.connection.jetstream(timeout=5)

    @property
    def nodes(self) -> dict[str, Node]:
        return self.membership.nodes

    async def die(self) -> None:
        """Stop without notifying NATS, as in a power cut: the lease lasts until it expires."""
        await disconnect(self.connection)
        await self.membership.close()

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until a condition on the list of machines holds."""
        changed = asyncio.Event()

        def note(*_: Node | None) -> None:
            changed.set()

        self.membership.on_change.append(note)
        async with asyncio.timeout(20):
            while not condition():
                changed.clear()
                await changed.wait()
        self.membership.on_change.remove(note)


@asynccontextmanager
async def leased_machine(
    server: NatsServer, name: str, fields: dict[str, Any] | None = None, *, cabled: bool = False, **options: Any
) -> AsyncGenerator[LeasedMachine]:
    """A machine that joins the cluster when its membership is opened. Its cable is in use only if `cabled`."""
    async with Cable(server.port) as cable:
        connection = await connect(f"nats://127.0.0.1:{cable.port}" if cabled else server.url)
        made = LeasedMachine(connection, cable, name, fields or {}, **options)
        try:
            yield made
        finally:
            await made.membership.close()
            await disconnect(connection)


class TimedEvent(asyncio.Event):
    """An event whose `wait` raises TimeoutError after 30 seconds."""

    async def wait(self) -> Literal[True]:
        async with asyncio.timeout(30):
            return await super().wait()


def event_on(handlers: list[Any]) -> TimedEvent:
    """An event that is set when the handlers are called."""
    event = TimedEvent()

    async def note() -> None:
        event.set()

    handlers.append(note)
    return event
