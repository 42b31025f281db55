"""One server per test module, with a session that has some events."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from handrail.bridge.session.events import event
from handrail.bridge.store.base import SessionRecord
from tests.bridge.serving import Running, running

SESSION = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"


class World(Running):
    """A server whose only session has `events` events."""

    session = SESSION
    work: Path
    events = 5


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[World]:
    folder = tmp_path_factory.mktemp("world")
    async with running(folder) as server:
        one = World(server.bridge, server.served)
        one.work = folder / "work"
        record = SessionRecord(
            id=SESSION, cwd=str(one.work), created=1, changed=2, title="A bridge", state="hibernated"
        )
        await one.bridge.sessions.index.put(record)
        events = [event("changed", f"word{number} everywhere", title=f"word{number}") for number in range(one.events)]
        await one.bridge.sessions.events.append(SESSION, events)
        yield one
