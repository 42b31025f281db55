"""What new sessions are started with where nothing else is said. In: what somebody chose. Out: the same, kept."""

from __future__ import annotations

import sqlite3
from typing import Final, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from handrail.bridge.commands.fields import Effort, Mode, Model, Style, Tokens
from handrail.bridge.errors import ClusterAway
from handrail.bridge.store.database import Database

__all__ = ["ASKING", "NAMES", "TABLES", "Chosen", "Defaults", "SharedChoice"]

TABLES: Final = """
CREATE TABLE IF NOT EXISTS chosen (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
"""
ASKING: Final = frozenset({"default", "manual", "plan"})
"""Modes that allow nothing which the settings do not."""
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
    """Where what was chosen on one machine holds for all."""

    async def get(self, name: str) -> bytes | None:
        """What was chosen; None for nothing. ClusterAway where that cannot be known just now."""
        ...

    async def put(self, name: str, value: bytes) -> None:
        """Choose something else. ClusterAway."""
        ...


class Defaults:
    """The defaults of one server, or of all that share them: what those are was last known here too."""

    def __init__(self, database: Database, shared: SharedChoice | None = None) -> None:
        self._database, self.shared = database, shared

    async def get(self) -> Chosen:
        """As they are now. Where nobody can be asked, or nobody has chosen for all, as they are here."""
        here = await self._here()
        try:
            value = await self.shared.get(_NAME) if self.shared is not None else None
        except ClusterAway:
            return here
        chosen = _read(value, here) if value is not None else here
        if chosen.mode == _NEVER:  # no machine may choose that for others
            chosen = replace(chosen, mode=None)
        if chosen != here:
            await self._keep(chosen)
        return chosen

    async def _here(self) -> Chosen:
        def look(db: sqlite3.Connection) -> Chosen:
            row = db.execute("SELECT value FROM chosen WHERE name = 'defaults'").fetchone()
            return _read(row[0], Chosen()) if row else Chosen()

        return await self._database.look(look)

    async def put(self, chosen: Chosen) -> None:
        """Others from now on. ClusterAway where they hold for all machines, and cannot be told to them."""
        if self.shared is not None:
            await self.shared.put(_NAME, msgspec.json.encode(chosen))
        await self._keep(chosen)

    async def _keep(self, chosen: Chosen) -> None:
        value = msgspec.json.encode(chosen)
        await self._database.execute("REPLACE INTO chosen VALUES ('defaults', ?)", (value,))


def _read(kept: bytes, otherwise: Chosen) -> Chosen:
    """What another version has kept and this one does not know is as if nobody had chosen it."""
    try:
        return msgspec.json.decode(kept, type=Chosen)
    except msgspec.MsgspecError:
        return otherwise
