"""The suite of `SharedValues`, on every implementation and on faulty ones."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from handrail.bridge.store.database import Database
from handrail.bridge.store.shared_values import TABLES, SharedValues, SqliteValues
from handrail.testing import SHARED_VALUES_CHECKS, PortFault, SharedValuesCheck, run_port_check
from handrail.testing import shared_values_suite as suite
from tests.bridge.stores import bucket_values, sqlite_values

Opens = Callable[[Path], AbstractAsyncContextManager[SharedValues]]


@pytest.mark.parametrize("check", SHARED_VALUES_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("opens", [sqlite_values, bucket_values], ids=lambda opens: opens.__name__)
async def test_shared_values_conform(opens: Opens, check: SharedValuesCheck, tmp_path: Path):
    await run_port_check(check, lambda: opens(tmp_path))


class TakenTwice(SqliteValues):
    async def take(self, key: str) -> bytes | None:
        value = self.get(key)
        await super().take(key)
        return value


class LosingUpdates(SqliteValues):
    async def update(self, key: str, change: Callable[[bytes], bytes], *, seconds: int | None = None) -> bytes | None:
        before = self.get(key)
        return None if before is None else await super().update(key, lambda _: change(before), seconds=seconds)


@pytest.mark.parametrize(
    ("kind", "check", "text"),
    [
        (TakenTwice, suite.a_value_is_taken_once, r"b'1', b'1'"),
        (LosingUpdates, suite.concurrent_updates_are_not_lost, "after 10 updates"),
    ],
)
async def test_suite_detects_faulty_values(
    kind: type[SqliteValues], check: SharedValuesCheck, text: str, tmp_path: Path
):
    @asynccontextmanager
    async def opens() -> AsyncGenerator[SharedValues]:
        database = Database(tmp_path / "values.db", TABLES)
        yield kind(database)
        await database.close()

    with pytest.raises(PortFault, match=text):
        await run_port_check(check, opens)
