"""Images that clients upload, to be sent to the model with a message."""

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
MOST_PER_MESSAGE: Final = 20 * 1024 * 1024
"""Bytes of images in one message. The Messages API accepts requests of 32 MB, and base64 adds a third."""
MOST_STORED: Final = 512 * 1024 * 1024
"""Bytes on disk; beyond that the oldest images are deleted."""
DAY: Final = 86_400_000
TABLES: Final = """
CREATE TABLE IF NOT EXISTS upload (
    id TEXT PRIMARY KEY, time INTEGER NOT NULL, media_type TEXT NOT NULL, data BLOB NOT NULL);
"""


def media_type(data: bytes) -> str:
    """The media type of an image by its first bytes; "" for other data."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""


class SharedPictures(Protocol):
    """Images shared with the other machines of a cluster."""

    async def put(self, id: str, data: bytes) -> None:
        """Share an image. Raises ClusterAway if the cluster does not answer."""
        ...

    async def get(self, id: str) -> bytes | None:
        """An image uploaded to any machine; None if it does not exist. Raises ClusterAway."""
        ...


class Uploads:
    """Images by id, deleted after a day or when the disk limit is reached. `shared` is set in a cluster."""

    def __init__(self, database: Database, shared: SharedPictures | None = None) -> None:
        self._database, self.shared = database, shared

    async def add(self, data: bytes) -> str:
        """Store an image; returns its id. Raises CommandRefused for other data, or if it is too large."""
        kind = media_type(data)
        if not kind:
            raise CommandRefused("no_picture", "unsupported image format; upload PNG, JPEG, GIF or WebP")
        if len(data) > LARGEST:
            raise CommandRefused("too_large", f"the image is larger than {LARGEST // 1024**2} MiB")
        id, now, before = str(uuid4()), round(latest_now() * 1000), round(earliest_now() * 1000) - DAY

        def store(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM upload WHERE time < ?", (before,))
            db.execute("INSERT INTO upload VALUES (?, ?, ?, ?)", (id, now, kind, data))
            newest = "SELECT rowid, SUM(LENGTH(data)) OVER (ORDER BY time DESC, rowid DESC) AS used FROM upload"
            beyond = f"SELECT rowid FROM ({newest}) WHERE used > ?"  # noqa: S608
            db.execute(f"DELETE FROM upload WHERE rowid IN ({beyond})", (MOST_STORED,))  # noqa: S608

        await self._database.change(store)
        if self.shared is not None:
            try:
                await self.shared.put(id, data)
            except ClusterAway as error:
                log.warning("image %s is available on this machine only: %s", id, error)
        return id

    async def get(self, id: str) -> tuple[str, bytes]:
        """The media type and bytes of an image. Raises CommandRefused if it does not exist."""

        def query(db: sqlite3.Connection) -> tuple[str, bytes] | None:
            return db.execute("SELECT media_type, data FROM upload WHERE id = ?", (id,)).fetchone()

        found = await self._database.look(query) or await self._get_shared(id)
        if found is None:
            raise CommandRefused("not_found", f"upload {id} not found; images are deleted after a day")
        return found

    async def _get_shared(self, id: str) -> tuple[str, bytes] | None:
        """An image from another machine, validated as if it had been uploaded here."""
        data = await self.shared.get(id) if self.shared is not None else None
        kind = media_type(data) if data and len(data) <= LARGEST else ""
        return (kind, data) if data and kind else None

    async def blocks(self, ids: list[str]) -> list[dict[str, Any]]:
        """Content blocks for the model. Raises CommandRefused if an image is missing or they are too large together."""
        left, found = MOST_PER_MESSAGE, list[dict[str, Any]]()
        for id in ids:
            kind, data = await self.get(id)
            left -= len(data)
            if left < 0:
                limit = f"{MOST_PER_MESSAGE // 1024**2} MiB"
                raise CommandRefused("too_large", f"the images of one message are larger than {limit} together")
            source = {"type": "base64", "media_type": kind, "data": base64.b64encode(data).decode()}
            found.append({"type": "image", "source": source})
        return found
