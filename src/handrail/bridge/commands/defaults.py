"""The choices with which new sessions start when a client names none. Persisted, and shared within a cluster."""

from __future__ import annotations

import sqlite3
from typing import Final, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from handrail.bridge.commands.table import Effort, Mode, Model, Style, Tokens
from handrail.bridge.errors import ClusterAway
from handrail.bridge.store.database import Database

__all__ = ["ASKING", "NAMES", "TABLES", "Chosen", "Defaults", "SharedChoice"]

TABLES: Final = """
CREATE TABLE IF NOT EXISTS chosen (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
"""
ASKING: Final = frozenset({"default", "manual", "plan"})
"""Permission modes that allow nothing beyond the settings."""
_NEVER: Final = "bypassPermissions"
_NAME: Final = "defaults"


class Chosen(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The defaults; null is the CLI's own."""

    model: Model | None = None
    mode: Mode | None = None
    effort: Effort | None = None
    thinking_tokens: Tokens | None = None
    output_style: Style | None = None


NAMES: Final = Chosen.__struct_fields__


class SharedChoice(Protocol):
    """A value that every machine of a cluster reads and writes."""

    async def get(self, name: str) -> bytes | None:
        """The value; None if it was never written. Raises ClusterAway."""
        ...

    async def put(self, name: str, value: bytes) -> None:
        """Replace the value. Raises ClusterAway."""
        ...


class Defaults:
    """The defaults of one server, or of a cluster with a local copy of the last known ones."""

    def __init__(self, database: Database, shared: SharedChoice | None = None) -> None:
        self._database, self.shared = database, shared

    async def get(self) -> Chosen:
        """The current defaults; the local copy if the cluster is unreachable or knows no defaults."""
        local = await self._local()
        try:
            value = await self.shared.get(_NAME) if self.shared is not None else None
        except ClusterAway:
            return local
        chosen = _decoded(value, local) if value is not None else local
        if chosen.mode == _NEVER:  # no machine may choose that for others
            chosen = replace(chosen, mode=None)
        if chosen != local:
            await self._persist(chosen)
        return chosen

    async def _local(self) -> Chosen:
        def look(db: sqlite3.Connection) -> Chosen:
            row = db.execute("SELECT value FROM chosen WHERE name = 'defaults'").fetchone()
            return _decoded(row[0], Chosen()) if row else Chosen()

        return await self._database.look(look)

    async def put(self, chosen: Chosen) -> None:
        """Replace the defaults. Raises ClusterAway if they are shared and the cluster is unreachable."""
        if self.shared is not None:
            await self.shared.put(_NAME, msgspec.json.encode(chosen))
        await self._persist(chosen)

    async def _persist(self, chosen: Chosen) -> None:
        value = msgspec.json.encode(chosen)
        await self._database.execute("REPLACE INTO chosen VALUES ('defaults', ?)", (value,))


def _decoded(value: bytes, otherwise: Chosen) -> Chosen:
    """A value that another version wrote and this one cannot read counts as missing."""
    try:
        return msgspec.json.decode(value, type=Chosen)
    except msgspec.MsgspecError:
        return otherwise
