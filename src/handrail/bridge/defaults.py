"""What new sessions are started with where nothing else is said. In: what somebody chose. Out: the same, kept."""

from __future__ import annotations

import sqlite3
from typing import Final

import msgspec
from msgspec import Struct

from handrail.bridge.commands.fields import Effort, Mode, Model, Style, Tokens
from handrail.bridge.database import Database

__all__ = ["ASKING", "NAMES", "TABLES", "Chosen", "Defaults"]

TABLES: Final = """
CREATE TABLE IF NOT EXISTS chosen (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
"""
ASKING: Final = frozenset({"default", "manual", "plan"})
"""Modes that allow nothing which the settings do not."""


class Chosen(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The defaults; null is the CLI's own."""

    model: Model | None = None
    mode: Mode | None = None
    effort: Effort | None = None
    thinking_tokens: Tokens | None = None
    output_style: Style | None = None


NAMES: Final = Chosen.__struct_fields__


class Defaults:
    """The defaults of one server."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self) -> Chosen:
        """As they are now."""

        def look(db: sqlite3.Connection) -> Chosen:
            row = db.execute("SELECT value FROM chosen WHERE name = 'defaults'").fetchone()
            return _read(row[0]) if row else Chosen()

        return await self._database.look(look)

    async def put(self, chosen: Chosen) -> None:
        """Others from now on."""
        value = msgspec.json.encode(chosen)
        await self._database.execute("REPLACE INTO chosen VALUES ('defaults', ?)", (value,))


def _read(kept: bytes) -> Chosen:
    """What another version has kept and this one does not know is as if nobody had chosen anything."""
    try:
        return msgspec.json.decode(kept, type=Chosen)
    except msgspec.MsgspecError:
        return Chosen()
