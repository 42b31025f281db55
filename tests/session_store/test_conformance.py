"""The stores that need no server, in the conformance suite."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from handrail.session_store import InMemorySessionStore, SessionStore, SqliteSessionStore
from handrail.testing import SESSION_STORE_CHECKS, SessionStoreCheck, run_port_check


class SmallestStore:
    """A store with the required methods only, which does not derive from the protocol."""

    def __init__(self) -> None:
        self._inner = InMemorySessionStore()
        self.append, self.load = self._inner.append, self._inner.load


@pytest.mark.parametrize("check", SESSION_STORE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", ["memory", "sqlite", "smallest"])
async def test_store_keeps_its_contract(kind: str, check: SessionStoreCheck, tmp_path: Path):
    @asynccontextmanager
    async def open_new() -> AsyncIterator[SessionStore]:
        if kind == "sqlite":
            async with SqliteSessionStore(tmp_path / "sessions.db") as store:
                yield store
        else:
            yield InMemorySessionStore() if kind == "memory" else SmallestStore()  # type: ignore[misc]

    await run_port_check(check, open_new)
