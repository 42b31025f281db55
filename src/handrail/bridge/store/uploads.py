"""Pictures that clients send. In: bytes. Out: an id, and blocks for the model. What is no picture is refused."""

from __future__ import annotations

import base64
import logging
import sqlite3
from typing import Any, Final, Protocol
from uuid import uuid4

from handrail.bridge.errors import ClusterAway, CommandRefused
from handrail.bridge.store.clock import earliest_now, latest_now
from handrail.bridge.store.database import Database

__all__ = ["LARGEST", "TABLES", "SharedPictures", "Uploads", "media_type"]

log = logging.getLogger("handrail.bridge")

LARGEST: Final = 5 * 1024 * 1024
MOST_AT_ONCE: Final = 20 * 1024 * 1024
"""So many bytes of pictures go with one message: as base64, no model takes more than 32 MB at a time."""
MOST_KEPT: Final = 512 * 1024 * 1024
"""On disk. Of more than that the oldest go."""
DAY: Final = 86_400_000
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


class SharedPictures(Protocol):
    """Where other machines find what was sent to this one."""

    async def put(self, id: str, data: bytes) -> None:
        """Keep a picture there. ClusterAway where that cannot be just now."""
        ...

    async def get(self, id: str) -> bytes | None:
        """A picture of any machine; None where there is none. ClusterAway."""
        ...


class Uploads:
    """Pictures by id. They are kept for a day, as long as there is room. `shared`: among many machines, for all."""

    def __init__(self, database: Database, shared: SharedPictures | None = None) -> None:
        self._database, self.shared = database, shared

    async def add(self, data: bytes) -> str:
        """Keep a picture. Out: its id. CommandRefused where it is none, or too large."""
        kind = media_type(data)
        if not kind:
            raise CommandRefused("no_picture", "only png, jpeg, gif and webp are taken")
        if len(data) > LARGEST:
            raise CommandRefused("too_large", f"a picture has at most {LARGEST // 1024**2} MiB")
        id, now, before = str(uuid4()), round(latest_now() * 1000), round(earliest_now() * 1000) - DAY

        def keep(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM upload WHERE time < ?", (before,))
            db.execute("INSERT INTO upload VALUES (?, ?, ?, ?)", (id, now, kind, data))
            newest = "SELECT rowid, SUM(LENGTH(data)) OVER (ORDER BY time DESC, rowid DESC) AS used FROM upload"
            db.execute(f"DELETE FROM upload WHERE rowid IN (SELECT rowid FROM ({newest}) WHERE used > ?)", (MOST_KEPT,))  # noqa: S608

        await self._database.change(keep)
        if self.shared is not None:
            try:
                await self.shared.put(id, data)
            except ClusterAway as error:
                log.warning("a picture is on this machine only: %s", error)
        return id

    async def get(self, id: str) -> tuple[str, bytes]:
        """A picture: its type and its bytes. CommandRefused where there is none."""

        def look(db: sqlite3.Connection) -> tuple[str, bytes] | None:
            return db.execute("SELECT media_type, data FROM upload WHERE id = ?", (id,)).fetchone()

        found = await self._database.look(look) or await self._get_shared(id)
        if found is None:
            raise CommandRefused("not_found", f"there is no upload {id}: pictures are kept for a day")
        return found

    async def _get_shared(self, id: str) -> tuple[str, bytes] | None:
        """What another machine was sent; it is checked as if it had been sent here."""
        data = await self.shared.get(id) if self.shared is not None else None
        kind = media_type(data) if data and len(data) <= LARGEST else ""
        return (kind, data) if data and kind else None

    async def blocks(self, ids: list[str]) -> list[dict[str, Any]]:
        """Pictures as the model is shown them. CommandRefused where one is missing, or they are too much for it."""
        left, found = MOST_AT_ONCE, list[dict[str, Any]]()
        for id in ids:
            kind, data = await self.get(id)
            left -= len(data)
            if left < 0:
                raise CommandRefused(
                    "too_large", f"the pictures of a message have at most {MOST_AT_ONCE // 1024**2} MiB"
                )
            source = {"type": "base64", "media_type": kind, "data": base64.b64encode(data).decode()}
            found.append({"type": "image", "source": source})
        return found
