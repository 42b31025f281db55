"""Devices and push subscriptions of a store of version 0.1 stay valid."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from handrail.bridge.errors import StoreFailed
from handrail.bridge.store.database import Database
from handrail.bridge.store.shared_values import TABLES, SqliteValues
from handrail.bridge.web.access_upgrade import upgrade
from handrail.bridge.web.devices import Access

OLD_TABLES = """
CREATE TABLE device (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, scopes TEXT NOT NULL, secret BLOB NOT NULL,
    created INTEGER NOT NULL, seen INTEGER NOT NULL, revoked INTEGER NOT NULL DEFAULT 0);
CREATE TABLE invitation (
    secret BLOB PRIMARY KEY, scopes TEXT NOT NULL, ends INTEGER NOT NULL, maker TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE push (
    endpoint TEXT PRIMARY KEY, device TEXT NOT NULL, p256dh TEXT NOT NULL, auth TEXT NOT NULL, time INTEGER NOT NULL);
"""


def old_store(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(OLD_TABLES)
        for id, kind, revoked in (("aa", "program", 0), ("bb", "seed", 0), ("cc", "program", 1)):
            row = (id, f"name {id}", kind, "prompt view", hashlib.sha256(b"secret").digest(), 5, 6, revoked)
            db.execute("INSERT INTO device VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        db.execute("INSERT INTO push VALUES ('https://push.example/x', 'aa', 'key', 'auth', 7)")


async def test_devices_of_version_0_1_are_taken_over(tmp_path: Path):
    path = tmp_path / "handrail.db"
    old_store(path)
    upgrade(path)
    upgrade(path)  # the second time there is nothing to do
    database = Database(path, TABLES)
    values = SqliteValues(database)
    await values.open()
    access = Access(values)
    found = access.device("aa.secret")
    assert found is not None
    assert (found.name, found.kind, found.scopes, found.created, found.seen) == (
        "name aa",
        "program",
        {"prompt", "view"},
        5,
        6,
    )
    assert [device.kind for device in access.devices()] == ["program", "ccpocket"]
    assert (access.device("cc.secret"), access.is_revoked("cc.secret")) == (None, True)
    assert len(values.below("push.")) == 1
    await database.close()


def test_no_store_and_no_database_need_no_upgrade(tmp_path: Path):
    upgrade(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "broken.db").write_bytes(b"x" * 1000)
    with pytest.raises(StoreFailed, match="not a database"):
        upgrade(tmp_path / "broken.db")
