"""Is a store whole? Broken pages and gaps are told; a good one is told with its figures."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from handrail.bridge.store import event_log as events
from handrail.bridge.store import session_index as index
from handrail.bridge.store.base import NewEvent
from handrail.bridge.store.check import store_check
from handrail.bridge.store.database import Database


@pytest.fixture
async def store(tmp_path: Path) -> Path:
    database = Database(tmp_path / "handrail.db", events.TABLES, index.TABLES)
    log = events.SqliteEventLog(database)
    for name in ("one", "two"):
        await log.append(name, [NewEvent("said", b'{"n": "' + b"x" * 500 + b'"}') for _ in range(50)])
    await log.forget("two", through=10)
    await database.close()
    return tmp_path / "handrail.db"


def test_a_good_store_is_told_with_its_figures(store: Path):
    faults, told = store_check(store)
    assert faults == []
    assert "0 sessions, 90 events" in told


def test_a_gap_is_told(store: Path):
    db = sqlite3.connect(store)
    db.execute("DELETE FROM event WHERE place = (SELECT key FROM log WHERE session = 'one') * 4294967296 + 7")
    db.commit()
    db.close()
    assert store_check(store)[0] == ["session one has 49 events of 1 to 50"]


def test_broken_pages_are_told(store: Path):
    data = bytearray(store.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 8192] = b"\xff" * 8192
    store.write_bytes(data)
    assert store_check(store)[0]


def test_what_is_no_store_is_told(tmp_path: Path):
    (tmp_path / "text.db").write_text("hello" * 500)
    assert store_check(tmp_path / "text.db")[0]
    assert store_check(tmp_path / "none.db")[0]
