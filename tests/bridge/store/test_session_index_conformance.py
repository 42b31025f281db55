"""The suite of `SessionIndex`, on every implementation and on faulty ones."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from handrail.bridge.store.base import SessionIndex, SessionRecord
from handrail.testing import SESSION_INDEX_CHECKS, PortFault, SessionIndexCheck, run_port_check
from handrail.testing import session_index_suite as suite
from handrail.testing.memory_store import MemorySessionIndex
from tests.bridge.stores import jetstream_index, memory_index, sqlite_index

Opens = Callable[[Path], AbstractAsyncContextManager[SessionIndex]]


@pytest.mark.parametrize("check", SESSION_INDEX_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("opens", [memory_index, sqlite_index, jetstream_index], ids=lambda opens: opens.__name__)
async def test_session_index_conforms(opens: Opens, check: SessionIndexCheck, tmp_path: Path):
    await run_port_check(check, lambda: opens(tmp_path))


class KeepingTheFirst(MemorySessionIndex):
    async def put(self, record: SessionRecord) -> None:
        self._records.setdefault(record.id, record)


class OldestFirst(MemorySessionIndex):
    async def list(
        self, *, archived: bool | None = None, words: str = "", limit: int = 100, offset: int = 0
    ) -> list[SessionRecord]:
        return (await super().list(archived=archived, words=words, limit=limit, offset=offset))[::-1]


@pytest.mark.parametrize(
    ("kind", "check", "text"),
    [
        (KeepingTheFirst, suite.the_last_put_wins, "an older record is stored"),
        (OldestFirst, suite.records_are_listed_newest_first, "c a b"),
    ],
)
async def test_suite_detects_a_faulty_index(kind: type[MemorySessionIndex], check: SessionIndexCheck, text: str):
    @asynccontextmanager
    async def opens() -> AsyncGenerator[SessionIndex]:
        yield kind()

    with pytest.raises(PortFault, match=text):
        await run_port_check(check, opens)
