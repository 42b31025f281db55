"""The database: changes share transactions, are acknowledged when durable, and fail one by one."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handrail.bridge.errors import StoreFailed
from handrail.bridge.store.database import Database

TABLE = "CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY)"


def count(db: sqlite3.Connection) -> int:
    return db.execute("SELECT COUNT(*) FROM t").fetchone()[0]


async def block(database: Database) -> tuple[asyncio.Task[Any], threading.Event]:
    """Keep the writer busy until the event is set."""
    loop, begun, go = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    blocked = asyncio.create_task(database.change(lambda _: (loop.call_soon_threadsafe(begun.set), go.wait())))
    await begun.wait()
    return blocked, go


async def test_connections_sync_every_commit(tmp_path: Path):
    database = Database(tmp_path / "a.db", TABLE)
    for connection in (database._writing, await database.look(lambda db: db)):
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    await database.close()


async def test_failing_change_leaves_the_others_alone(tmp_path: Path):
    database = Database(tmp_path / "a.db", TABLE)
    adding = [database.execute("INSERT INTO t VALUES (?)", (n % 40,)) for n in range(50)]
    results = await asyncio.gather(*adding, return_exceptions=True)
    assert [type(result) for result in results[40:]] == [StoreFailed] * 10
    assert results[:40] == [None] * 40
    assert await database.look(count) == 40
    await database.close()


async def test_errors_reach_the_caller_and_roll_back(tmp_path: Path):
    database = Database(tmp_path / "a.db", TABLE)

    def half(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO t VALUES (1)")
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await database.change(half)
    assert await database.look(count) == 0
    with pytest.raises(StoreFailed, match="no such table"):
        await database.look(lambda db: db.execute("SELECT * FROM absent"))
    await database.close()


async def test_changes_queued_together_share_a_transaction_and_fail_one_by_one(tmp_path: Path):
    database = Database(tmp_path / "a.db", TABLE)
    statements: list[str] = []
    database._writing.set_trace_callback(statements.append)

    def insert(n: int) -> Callable[[sqlite3.Connection], int]:
        def work(db: sqlite3.Connection) -> int:
            db.execute("INSERT INTO t VALUES (?)", (n,))
            return count(db)

        return work

    assert await database.change_all([insert(1), insert(2), insert(3)]) == [1, 2, 3]
    assert statements.count("COMMIT") == 1
    ok, failed, after = await database.change_all([insert(4), insert(1), insert(5)])
    assert (ok, after) == (4, 5)
    assert isinstance(failed, StoreFailed)
    await database.close()
    with pytest.raises(StoreFailed, match="closed"):
        await database.change_all([insert(6)])


async def test_concurrent_changes_share_transactions(tmp_path: Path):
    database = Database(tmp_path / "a.db", TABLE)
    commits: list[str] = []
    database._writing.set_trace_callback(lambda text: commits.append(text) if text == "COMMIT" else None)
    await asyncio.gather(*(database.execute("INSERT INTO t VALUES (?)", (n,)) for n in range(400)))
    assert await database.look(count) == 400
    assert len(commits) < 100
    await database.close()


async def test_callers_that_write_in_step_share_every_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("handrail.bridge.store.database.GATHER_SECONDS", 600)
    database = Database(tmp_path / "a.db", TABLE)
    commits: list[str] = []
    blocked, go = await block(database)

    async def caller(first: int) -> None:
        for n in range(first, first + 50):
            await database.execute("INSERT INTO t VALUES (?)", (n,))

    callers = [asyncio.create_task(caller(100 * number)) for number in range(8)]
    await asyncio.sleep(0)
    database._writing.set_trace_callback(lambda text: commits.append(text) if text == "COMMIT" else None)
    go.set()
    await asyncio.gather(blocked, *callers)
    assert len(commits) == 1 + 50
    await asyncio.wait_for(database.close(), 60)  # does not wait for more


async def test_caller_that_is_left_alone_waits_once(tmp_path: Path):
    database = Database(tmp_path / "a.db", TABLE)
    blocked, go = await block(database)
    together = [asyncio.create_task(database.execute("INSERT INTO t VALUES (?)", (n,))) for n in range(8)]
    await asyncio.sleep(0)
    go.set()
    await asyncio.gather(blocked, *together)
    assert database._requests._shared == 8
    for n in range(8, 11):
        await database.execute("INSERT INTO t VALUES (?)", (n,))
        assert database._requests._shared == 1
    assert await database.look(count) == 11
    await database.close()


async def test_cancelled_caller_leaves_the_others_alone(tmp_path: Path):
    database = Database(tmp_path / "a.db", TABLE)
    tasks = [asyncio.create_task(database.execute("INSERT INTO t VALUES (?)", (n,))) for n in range(20)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.wait(tasks)
    assert all(not task.cancelled() for task in tasks[1::2])
    assert await database.look(count) == 20
    await database.close()


async def test_close_commits_queued_changes_and_refuses_new_ones(tmp_path: Path):
    database = Database(tmp_path / "a.db", TABLE)
    tasks = [asyncio.create_task(database.execute("INSERT INTO t VALUES (?)", (n,))) for n in range(100)]
    await asyncio.sleep(0)
    await database.close()
    await database.close()
    await asyncio.gather(*tasks)
    with pytest.raises(StoreFailed, match="closed"):
        await database.execute("INSERT INTO t VALUES (999)")
    with pytest.raises(StoreFailed, match="closed"):
        await database.look(count)
    again = Database(tmp_path / "a.db", TABLE)
    assert await again.look(count) == 100
    await again.close()


def test_unusable_file_is_named_in_the_error(tmp_path: Path):
    (tmp_path / "a.db").write_bytes(b"This is not a database. " * 100)
    with pytest.raises(StoreFailed, match=r"a\.db: file is not a database"):
        Database(tmp_path / "a.db", TABLE)
    with pytest.raises(StoreFailed, match="unable to open"):
        Database(tmp_path / "nowhere" / "a.db", TABLE)
    with pytest.raises(StoreFailed, match="syntax error"):
        Database(tmp_path / "b.db", "CREATE NONSENSE")


async def test_reads_do_not_wait_for_a_running_change(tmp_path: Path):
    database, go = Database(tmp_path / "a.db", TABLE), threading.Event()
    writing = asyncio.create_task(database.change(lambda db: (db.execute("INSERT INTO t VALUES (1)"), go.wait())))
    assert await database.look(count) == 0
    go.set()
    await writing
    assert await database.look(count) == 1
    await database.close()
