"""A NATS server with the streams of a cluster, which a test may kill and restart."""

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

TIMEOUT = 60
"""Seconds; only a hang takes longer."""
ANSWER_WITHIN = 5.0
"""Seconds; enough on a busy machine."""


class JetStreamServer:
    """A NATS server and a connection to it."""

    def __init__(self, server: NatsServer, connection: Client, js: JetStreamContext) -> None:
        self.server, self.connection, self.js = server, connection, js

    async def kill(self) -> None:
        """Kill the server. Requests time out quickly from now on."""
        await self.server.kill()
        self.js._timeout = 0.2  # pyright: ignore[reportPrivateUsage]

    async def start(self) -> None:
        """Restart the server."""
        self.js._timeout = ANSWER_WITHIN  # pyright: ignore[reportPrivateUsage]
        await self.server.start()

    async def subjects(self, store: str) -> dict[str, int]:
        """The names in an object store with their number of messages."""
        info = await self.js.stream_info(f"OBJ_{store}", subjects_filter=">")
        return {name.removeprefix(f"$O.{store}.C."): count for name, count in (info.state.subjects or {}).items()}


@asynccontextmanager
async def jetstream_server(folder: Path) -> AsyncGenerator[JetStreamServer]:
    async def ignore(_: Exception) -> None:
        """Tests kill the server themselves, so its errors are expected."""

    async with asyncio.timeout(TIMEOUT), NatsServer(folder / "nats") as server:
        connection = await nats.connect(server.url, error_cb=ignore, reconnect_time_wait=0.05)
        js = connection.jetstream(timeout=ANSWER_WITHIN)
        await lay_out(js, 1)
        try:
            yield JetStreamServer(server, connection, js)
        finally:
            with suppress(OSError):  # closing fails if the server was killed
                await connection.close()
