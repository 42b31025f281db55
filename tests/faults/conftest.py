"""Servers for the rows of the fault table. Out: one for all tests of a file, whose record is judged at the end."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from tests.faults.checker import check
from tests.faults.server_process import ServerProcess
from tests.faults.watcher import Watcher


class Scene:
    """A server, and a client that sees all."""

    def __init__(self, server: ServerProcess, watcher: Watcher) -> None:
        self.server, self.watcher = server, watcher

    async def session(self) -> str:
        """A new session, followed."""
        return await self.watcher.start(self.server.work)

    def seen(self, session: str):
        """What is known of it."""
        return self.watcher.sessions[session]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Scene]:
    """A server for the whole file. In the end nothing is lost, doubled or left behind."""
    server = ServerProcess(tmp_path_factory.mktemp("server"))
    async with server, Watcher("client", server.url, server.token) as watcher:
        yield Scene(server, watcher)
    assert await server.orphans() == []
    assert check(server.data / "handrail.db", server.diaries, [watcher.write(server.folder)], killed=False) == []
