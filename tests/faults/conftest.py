"""One server per test module for the rows of the fault table; the run is checked at the end."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from tests.faults.checker import check
from tests.faults.server_process import ServerProcess
from tests.faults.watcher import Watcher


class Scene:
    """A server, and a client that follows all sessions."""

    def __init__(self, server: ServerProcess, watcher: Watcher) -> None:
        self.server, self.watcher = server, watcher

    async def session(self) -> str:
        """Start a session and follow it."""
        return await self.watcher.start(self.server.work)

    def seen(self, session: str):
        """The client's view of a session."""
        return self.watcher.sessions[session]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Scene]:
    """A server for the whole module. At the end, no event may be lost or duplicated and no process left behind."""
    server = ServerProcess(tmp_path_factory.mktemp("server"))
    async with server, Watcher("client", server.url, server.token) as watcher:
        yield Scene(server, watcher)
    assert await server.orphans() == []
    assert check(server.data / "handrail.db", server.diaries, [watcher.write(server.folder)], killed=False) == []
