"""Small values that all gateways of a cluster share: devices, login links, push subscriptions. The port, on SQLite.

A server alone keeps them in its store. In a cluster they are in a bucket on NATS
(`cluster/store/bucket_values.py`), and this table is the copy of one gateway, with which it starts if NATS does not
answer. One conformance suite, `handrail.testing.SHARED_VALUES_CHECKS`, holds for both.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

from msgspec import Struct

from handrail.bridge.store.clock import earliest_now
from handrail.bridge.store.database import Database

__all__ = ["TABLES", "Change", "Changed", "SharedValues", "SqliteValues"]

log = logging.getLogger("handrail.bridge")
TABLES: Final = """
CREATE TABLE IF NOT EXISTS shared_value (
    key TEXT PRIMARY KEY, value BLOB NOT NULL, ends INTEGER NOT NULL, published INTEGER NOT NULL) WITHOUT ROWID;
"""
Change = Callable[[bytes], bytes]
Changed = Callable[[str, bytes | None], None]


class SharedValues(Protocol):
    """Values by key, all of them in memory, so that reading needs no request.

    Writing returns once the value is durable. In a cluster it raises ClusterAway if NATS does not answer; the values
    read before stay as they are.

    on_change   called with the key and the new value, None if it was deleted, whichever gateway changed it
    """

    on_change: list[Changed]

    def get(self, key: str) -> bytes | None:
        """The value of a key."""
        ...

    def below(self, prefix: str) -> dict[str, bytes]:
        """The values of all keys that begin with a prefix."""
        ...

    async def create(self, key: str, value: bytes, *, seconds: int | None = None) -> bool:
        """Add a value unless the key has one; of several calls at the same time one returns True.

        seconds   the value is deleted after this time
        """
        ...

    async def update(self, key: str, change: Change, *, seconds: int | None = None) -> bytes | None:
        """Replace a value by the result of `change`, and return it; None if there is no value.

        `change` may be called several times. If it returns the same value, nothing is written.
        """
        ...

    async def take(self, key: str) -> bytes | None:
        """Delete a value and return it; of several calls at the same time one gets it."""
        ...


class _Row(Struct, frozen=True):
    """A value in the table. `ends`: seconds since 1970, 0 for never. `published`: copied from NATS."""

    value: bytes
    ends: int = 0
    published: bool = False


class SqliteValues:
    """The port for a server alone, and the local copy of a gateway. `clock` is in seconds since 1970.

    Another process may add a value to the table (`handrail serve --link`); `take` finds it, `get` does not.
    """

    def __init__(self, database: Database, clock: Callable[[], float] = earliest_now) -> None:
        self._database, self._clock = database, clock
        self.on_change: list[Changed] = []
        self._rows: dict[str, _Row] = {}

    async def open(self) -> None:
        """Read all values."""

        def look(db: sqlite3.Connection) -> list[tuple[str, bytes, int, int]]:
            return db.execute("SELECT key, value, ends, published FROM shared_value").fetchall()

        rows = await self._database.look(look)
        self._rows = {key: _Row(value, ends, bool(published)) for key, value, ends, published in rows}

    def get(self, key: str) -> bytes | None:
        row = self._rows.get(key)
        return None if row is None or self._is_over(row) else row.value

    def below(self, prefix: str) -> dict[str, bytes]:
        return {key: row.value for key, row in self._rows.items() if key.startswith(prefix) and not self._is_over(row)}

    async def create(self, key: str, value: bytes, *, seconds: int | None = None) -> bool:
        row, now = _Row(value, self._ends(seconds)), self._clock()

        def add(db: sqlite3.Connection) -> bool:
            db.execute("DELETE FROM shared_value WHERE ends > 0 AND ends < ?", (now,))
            statement = "INSERT OR IGNORE INTO shared_value VALUES (?, ?, ?, 0)"
            return db.execute(statement, (key, value, row.ends)).rowcount == 1

        created = await self._database.change(add)
        self._rows = {key: row for key, row in self._rows.items() if not self._is_over(row)}
        if created:
            self._set(key, row)
        return created

    async def update(self, key: str, change: Change, *, seconds: int | None = None) -> bytes | None:
        ends = self._ends(seconds)

        def work(db: sqlite3.Connection) -> bytes | None:
            found = db.execute("SELECT value, ends FROM shared_value WHERE key = ?", (key,)).fetchone()
            if found is None or self._is_over(_Row(*found)):
                return None
            value = change(found[0])
            if value != found[0]:
                db.execute("UPDATE shared_value SET value = ?, ends = ? WHERE key = ?", (value, ends, key))
            return value

        value = await self._database.change(work)
        if value is not None and value != self.get(key):
            self._set(key, _Row(value, ends))
        return value

    async def take(self, key: str) -> bytes | None:
        return await self._take("key = ?", key)

    async def _take(self, which: str, key: str) -> bytes | None:
        statement = f"DELETE FROM shared_value WHERE {which} RETURNING value, ends"  # noqa: S608

        def work(db: sqlite3.Connection) -> tuple[bytes, int] | None:
            return db.execute(statement, (key,)).fetchone()

        found = await self._database.change(work)
        if found is not None:
            self._set(key, None)
        return None if found is None or self._is_over(_Row(*found)) else found[0]

    def _ends(self, seconds: int | None) -> int:
        return 0 if seconds is None else round(self._clock()) + seconds

    def _is_over(self, row: _Row) -> bool:
        return bool(row.ends) and row.ends < self._clock()

    def _set(self, key: str, row: _Row | None) -> None:
        before = self._rows.pop(key, None)
        if row is not None:
            self._rows[key] = row
        if (before and before.value) != (row and row.value):
            for handler in self.on_change:
                try:
                    handler(key, row.value if row is not None else None)
                except Exception:  # one failing handler must not stop the others
                    log.exception("a handler of shared values failed (%s)", key)

    # As the copy of values on NATS

    def copy(self, key: str, value: bytes | None) -> Coroutine[Any, Any, None]:
        """Take over a value from NATS, None if it was deleted: in memory now, in the table when awaited."""
        row = None if value is None else _Row(value, published=True)
        if row == self._rows.get(key):
            return _done()
        self._set(key, row)
        if value is None:
            return self._database.execute("DELETE FROM shared_value WHERE key = ?", (key,))
        return self._database.execute("REPLACE INTO shared_value VALUES (?, ?, 0, 1)", (key, value))

    async def unpublished(self) -> dict[str, tuple[bytes, int]]:
        """Values that never were on NATS, each with the seconds until its end; 0 for never."""

        def look(db: sqlite3.Connection) -> list[tuple[str, bytes, int]]:
            return db.execute("SELECT key, value, ends FROM shared_value WHERE published = 0").fetchall()

        now, rows = round(self._clock()), await self._database.look(look)
        return {key: (value, ends and max(1, ends - now)) for key, value, ends in rows if not ends or ends > now}

    async def take_unpublished(self, key: str) -> bytes | None:
        """Delete and return a value that never was on NATS, such as a link that another process has added."""
        return await self._take("key = ? AND published = 0", key)


async def _done() -> None:
    return
