"""A real server with everything that a cluster keeps on it. In: a folder. Out: JetStream, and the server itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import nats
from nats.aio.client import Client
from nats.js import JetStreamContext

from handrail.bridge.cluster.store.layout import lay_out
from handrail.testing import NatsServer

PATIENCE = 60
"""Only a hang takes so long."""
ANSWER_WITHIN = 5.0
"""Seconds, on a busy machine."""


class Store:
    """A connection to a server."""

    def __init__(self, server: NatsServer, connection: Client, js: JetStreamContext) -> None:
        self.server, self.connection, self.js = server, connection, js

    async def kill(self) -> None:
        """End the server. From now on nobody waits long for its answers."""
        await self.server.kill()
        self.js._timeout = 0.2  # pyright: ignore[reportPrivateUsage]

    async def start(self) -> None:
        """Start it again."""
        self.js._timeout = ANSWER_WITHIN  # pyright: ignore[reportPrivateUsage]
        await self.server.start()

    async def subjects(self, store: str) -> dict[str, int]:
        """What lies in an object store: how many messages under which name."""
        info = await self.js.stream_info(f"OBJ_{store}", subjects_filter=">")
        return {name.removeprefix(f"$O.{store}.C."): count for name, count in (info.state.subjects or {}).items()}


@asynccontextmanager
async def real_store(folder: Path) -> AsyncGenerator[Store]:
    async def say_nothing(_: Exception) -> None:
        """That the server has gone is no news to a test that has killed it."""

    async with asyncio.timeout(PATIENCE), NatsServer(folder / "nats") as server:
        connection = await nats.connect(server.url, error_cb=say_nothing, reconnect_time_wait=0.05)
        js = connection.jetstream(timeout=ANSWER_WITHIN)
        await lay_out(js, 1)
        try:
            yield Store(server, connection, js)
        finally:
            with suppress(OSError):  # it says goodbye also to a server that was killed
                await connection.close()
