"""One NATS server per test process, shared by all tests that do not disturb the server."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import nats
from nats.aio.client import Client

from handrail.bridge.cluster.store.layout import lay_out
from handrail.testing import NatsServer

_servers: list[NatsServer] = []


async def shared_server() -> NatsServer:
    """The server, with the streams and buckets of the bridge. The first call starts it."""
    if not _servers:
        folder = Path(tempfile.mkdtemp(prefix="handrail-nats-"))
        server = NatsServer(folder)
        atexit.register(_end, server)
        await server.start()
        connection = await nats.connect(server.url)
        await lay_out(connection.jetstream(), 1)
        await connection.close()
        _servers.append(server)
    return _servers[0]


def _end(server: NatsServer) -> None:
    server.end()
    shutil.rmtree(server.folder, ignore_errors=True)


@asynccontextmanager
async def connected(*, empty: Iterable[str] = ()) -> AsyncGenerator[Client]:
    """A connection to the shared server. The streams in `empty` are purged first."""
    connection = await nats.connect((await shared_server()).url)
    try:
        for stream in empty:
            await connection.jetstream().purge_stream(stream)
        yield connection
    finally:
        await connection.close()
