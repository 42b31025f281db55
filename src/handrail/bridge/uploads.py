"""Pictures that clients send. In: bytes. Out: an id, and a block for the model. What is no picture is refused."""

from __future__ import annotations

import base64
import sqlite3
import time
from typing import Any, Final
from uuid import uuid4

from handrail.bridge.database import Database
from handrail.bridge.errors import CommandRefused

__all__ = ["LARGEST", "TABLES", "Uploads", "media_type"]

LARGEST: Final = 5 * 1024 * 1024
MOST_HELD: Final = 64 * 1024 * 1024
TABLES: Final = """
CREATE TABLE IF NOT EXISTS upload (
    id TEXT PRIMARY KEY, time INTEGER NOT NULL, media_type TEXT NOT NULL, data BLOB NOT NULL);
"""


def media_type(data: bytes) -> str:
    """What a picture is, by its first bytes; "" for what is none."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""


class Uploads:
    """Pictures by id. They are kept for a day."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held: dict[str, tuple[str, bytes]] = {}

    async def add(self, data: bytes) -> str:
        """Keep a picture. Out: its id. CommandRefused where it is none, or too large."""
        kind = media_type(data)
        if not kind:
            raise CommandRefused("no_picture", "only png, jpeg, gif and webp are taken")
        if len(data) > LARGEST:
            raise CommandRefused("too_large", f"a picture has at most {LARGEST // 1024**2} MiB")
        id, now = str(uuid4()), round(time.time() * 1000)

        def keep(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM upload WHERE time < ?", (now - 86_400_000,))
            db.execute("INSERT INTO upload VALUES (?, ?, ?, ?)", (id, now, kind, data))

        await self._database.change(keep)
        self._hold(id, kind, data)
        return id

    def _hold(self, id: str, kind: str, data: bytes) -> None:
        """Have it at hand; those that have been for longest make room."""
        self._held[id] = (kind, data)
        while len(self._held) > 1 and sum(len(held) for _, held in self._held.values()) > MOST_HELD:
            del self._held[next(iter(self._held))]

    async def get(self, id: str) -> tuple[str, bytes]:
        """A picture: its type and its bytes. CommandRefused where there is none."""
        await self.load([id])
        return self._found(id)

    def _found(self, id: str) -> tuple[str, bytes]:
        if id not in self._held:
            raise CommandRefused("not_found", f"there is no upload {id}: pictures are kept for a day")
        return self._held[id]

    async def load(self, ids: list[str]) -> None:
        """Have these at hand."""

        def look(db: sqlite3.Connection) -> list[Any]:
            marks = ",".join("?" * len(wanted))
            return db.execute(f"SELECT id, media_type, data FROM upload WHERE id IN ({marks})", wanted).fetchall()  # noqa: S608

        wanted = [id for id in ids if id not in self._held]
        if wanted:
            for id, kind, data in await self._database.look(look):
                self._hold(id, kind, data)

    def block(self, id: str) -> dict[str, Any]:
        """A picture as the model is shown it. CommandRefused where it is not at hand."""
        found = self._found(id)
        source = {"type": "base64", "media_type": found[0], "data": base64.b64encode(found[1]).decode()}
        return {"type": "image", "source": source}
