"""The audit log: approvals, mode changes, trust decisions, paired devices.

Each row names the device twice: by its display name, which is not unique, and by its id.
"""

from __future__ import annotations

import sqlite3
import time
from typing import Any, Final

import msgspec

from handrail.bridge.store.database import Database

__all__ = ["TABLES", "Audit"]

TABLES: Final = """
CREATE TABLE IF NOT EXISTS audit (
    id INTEGER PRIMARY KEY, time INTEGER NOT NULL, by TEXT NOT NULL, what TEXT NOT NULL, fields BLOB NOT NULL);
"""


class Audit:
    """Append-only: rows are never changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def note(self, by: str, device: str, what: str, fields: dict[str, Any]) -> None:
        """Append a row; returns once it is durable."""
        row = (round(time.time() * 1000), by, what, msgspec.json.encode({"by_device": device, **fields}))
        statement = "INSERT INTO audit (time, by, what, fields) VALUES (?, ?, ?, ?)"
        await self._database.execute(statement, row)

    async def list(self, limit: int = 100) -> list[dict[str, Any]]:
        """The newest rows, newest first."""

        def query(db: sqlite3.Connection) -> list[dict[str, Any]]:
            rows = db.execute("SELECT time, by, what, fields FROM audit ORDER BY id DESC LIMIT ?", (limit,))
            return [
                {"time": time, "by": by, "what": what, **msgspec.json.decode(fields)} for time, by, what, fields in rows
            ]

        return await self._database.look(query)
