"""Moves the devices and push subscriptions of version 0.1 into the shared values."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final, cast

import msgspec

from handrail.bridge.errors import StoreFailed
from handrail.bridge.store.shared_values import TABLES
from handrail.bridge.web.devices import Kind, StoredDevice, device_key
from handrail.bridge.web.push import Subscription, subscription_key

__all__ = ["upgrade"]

_OLD_KINDS: Final = {"seed": "ccpocket"}


def upgrade(path: Path) -> None:
    """Move the tables of version 0.1. Does nothing for other stores. Raises StoreFailed."""
    if not path.exists():
        return
    db = sqlite3.connect(path, isolation_level=None)
    try:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        old = tables & {"device", "push", "invitation"}
        if not old:
            return
        db.executescript(TABLES)
        db.execute("BEGIN IMMEDIATE")
        if "device" in old:
            db.executemany("INSERT OR IGNORE INTO shared_value VALUES (?, ?, 0, 0)", list(_devices(db)))
        if "push" in old:
            db.executemany("INSERT OR IGNORE INTO shared_value VALUES (?, ?, 0, 0)", list(_subscriptions(db)))
        for name in old:  # links are valid for ten minutes only; those of before are not moved
            db.execute(f"DROP TABLE {name}")
        db.execute("COMMIT")
    except (sqlite3.Error, msgspec.MsgspecError) as error:
        raise StoreFailed(path, error) from error
    finally:
        db.close()


def _devices(db: sqlite3.Connection) -> Iterator[tuple[str, bytes]]:
    columns = "id, name, kind, scopes, secret, created, seen, revoked"
    for id, name, kind, scopes, secret, created, seen, revoked in db.execute(f"SELECT {columns} FROM device"):  # noqa: S608
        stored = StoredDevice(
            name=name,
            kind=cast("Kind", _OLD_KINDS.get(kind, kind)),
            scopes=scopes,
            secret=secret.hex(),
            created=created,
            seen=seen,
            revoked=bool(revoked),
        )
        yield device_key(id), msgspec.json.encode(stored)


def _subscriptions(db: sqlite3.Connection) -> Iterator[tuple[str, bytes]]:
    for row in db.execute("SELECT endpoint, device, p256dh, auth, time FROM push"):
        yield subscription_key(row[0]), msgspec.json.encode(Subscription(*row))
