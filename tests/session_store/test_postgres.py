"""The PostgreSQL store, with a temporary server. Run by `make interop`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from handrail.session_store import PostgresSessionStore, SessionStoreError
from handrail.testing import SESSION_STORE_CHECKS, SessionStoreCheck, run_port_check
from tests.session_store.postgres_server import postgres_server

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("postgres")]

KEY: Any = {"project_key": "p", "session_id": "s"}


@pytest.fixture(scope="module")
def dsn() -> Iterator[str]:
    with postgres_server() as dsn:
        yield dsn


@pytest.fixture
async def empty(dsn: str) -> str:
    connection = await asyncpg.connect(dsn)
    await connection.execute("DROP TABLE IF EXISTS handrail_entries, handrail_sessions")
    await connection.close()
    return dsn


@pytest.mark.parametrize("check", SESSION_STORE_CHECKS, ids=lambda check: check.__name__)
async def test_store_keeps_its_contract(check: SessionStoreCheck, empty: str):
    @asynccontextmanager
    async def open_new() -> AsyncIterator[PostgresSessionStore]:
        async with PostgresSessionStore(empty) as store:
            yield store

    await run_port_check(check, open_new)


async def test_several_clients_create_the_tables_and_append_at_once(empty: str):
    stores = [PostgresSessionStore(empty, connections=2) for _ in range(5)]
    try:
        batches = [[{"type": "user", "uuid": f"{n}-{i}"} for i in range(10)] for n in range(40)]
        await asyncio.gather(*(stores[n % 5].append(KEY, batch) for n, batch in enumerate(batches)))  # type: ignore[arg-type]
        found = [entry["uuid"] for entry in await stores[0].load(KEY) or ()]
    finally:
        for store in stores:
            await store.close()
    assert len(found) == 400
    for n in range(40):
        start = found.index(f"{n}-0")
        assert found[start : start + 10] == [f"{n}-{i}" for i in range(10)]


async def test_store_connects_again_after_it_was_closed(empty: str):
    store = PostgresSessionStore(empty)
    await store.append(KEY, [{"type": "user", "uuid": "a"}])
    await store.close()
    assert await store.load(KEY) == [{"type": "user", "uuid": "a"}]
    await store.close()


async def test_missing_server_is_named_without_the_password():
    store = PostgresSessionStore("postgresql://me:secret-word@/db?host=/nowhere")
    with pytest.raises(SessionStoreError, match="cannot connect to the PostgreSQL") as caught:
        await store.load(KEY)
    assert "secret-word" not in str(caught.value)
