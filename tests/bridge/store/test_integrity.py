"""Checks of a store: the quick one at the start of a server, and the complete one of `handrail doctor`."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from handrail.bridge.store import event_log as events
from handrail.bridge.store import session_index as index
from handrail.bridge.store.base import NewEvent
from handrail.bridge.store.database import Database
from handrail.bridge.store.integrity import check_at_start, check_store, damage_of, mark_closed, mark_open


@pytest.fixture
async def store(tmp_path: Path) -> Path:
    database = Database(tmp_path / "handrail.db", events.TABLES, index.TABLES)
    log = events.SqliteEventLog(database)
    for name in ("one", "two"):
        await log.append(name, [NewEvent("said", b'{"n": "' + b"x" * 500 + b'"}') for _ in range(50)])
    await log.forget("two", through=10)
    await database.close()
    return tmp_path / "handrail.db"


def overwrite_pages(store: Path) -> None:
    data = bytearray(store.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 8192] = b"\xff" * 8192
    store.write_bytes(data)


# At the start


def test_sound_or_missing_store_has_no_problem(store: Path):
    assert check_at_start(store.with_name("missing.db")) == ""
    assert (check_at_start(store), damage_of(store)) == ("", "")


def test_damaged_store_is_renamed_with_its_log(tmp_path: Path):
    path = tmp_path / "handrail.db"
    path.write_bytes(b"no database " * 400)
    path.with_name("handrail.db-wal").write_bytes(b"log")
    assert "is damaged" in check_at_start(path)
    suffixes = sorted(file.name.partition(".corrupt-")[2][15:] for file in tmp_path.iterdir())
    assert suffixes == ["", "-wal"]


def test_overwritten_pages_are_damage(store: Path):
    overwrite_pages(store)
    assert damage_of(store)


def test_missing_log_is_reported_once_and_only_after_a_kill(store: Path):
    mark_open(store)
    assert "its last writes are lost" in check_at_start(store)
    assert check_at_start(store) == ""
    mark_open(store)
    mark_closed(store)
    assert check_at_start(store) == ""


# Complete


def test_sound_store_is_summarised(store: Path):
    faults, summary = check_store(store)
    assert faults == []
    assert "0 sessions, 90 events" in summary


def test_gap_between_events_is_a_fault(store: Path):
    db = sqlite3.connect(store)
    db.execute("DELETE FROM event WHERE place = (SELECT key FROM log WHERE session = 'one') * 4294967296 + 7")
    db.commit()
    db.close()
    assert check_store(store)[0] == ["session one has 49 events of 1 to 50"]


def test_overwritten_pages_are_a_fault(store: Path):
    overwrite_pages(store)
    assert check_store(store)[0]


def test_other_file_or_missing_file_is_a_fault(tmp_path: Path):
    (tmp_path / "text.db").write_text("hello" * 500)
    assert check_store(tmp_path / "text.db")[0]
    assert check_store(tmp_path / "none.db")[0]
