"""Uploaded images, available to every machine for a day."""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec
from msgspec import Struct, field
from nats.js import JetStreamContext

from handrail.bridge.cluster.nats.names import UPLOADS
from handrail.bridge.cluster.transfer.object_store import CHUNK_SIZE, ObjectStore, is_name

__all__ = ["SharedUploads"]

MAX_CHUNKS: Final = 64


class _Header(Struct, frozen=True):
    """Written after the chunks: an upload without a header is incomplete."""

    size: int
    digest: str
    chunks: int = field(name="pieces")


class SharedUploads:
    """Uploads by id. NATS deletes them after a day."""

    def __init__(self, js: JetStreamContext) -> None:
        self._store = ObjectStore(js, UPLOADS)

    async def put(self, id: str, data: bytes) -> None:
        """Store an upload. Raises ClusterAway if NATS is unavailable, ValueError if the id is invalid."""
        if not is_name(id):
            raise ValueError(f"invalid upload id {id[:60]!r}")
        starts = range(0, len(data), CHUNK_SIZE)
        for n, start in enumerate(starts):
            await self._store.put(id, str(n), data=data[start : start + CHUNK_SIZE])
        header = _Header(len(data), hashlib.sha256(data).hexdigest(), len(starts))
        await self._store.put(id, data=msgspec.json.encode(header))

    async def get(self, id: str) -> bytes | None:
        """Read an upload; None if it is missing or incomplete. Raises ClusterAway if NATS does not answer."""
        found = await self._store.get(id) if is_name(id) else None
        if found is None:
            return None
        try:
            header = msgspec.json.decode(found.data, type=_Header)
        except msgspec.MsgspecError:
            return None
        data = bytearray()
        for n in range(header.chunks if header.chunks <= MAX_CHUNKS else 0):
            chunk = await self._store.get(id, str(n))
            if chunk is None or len(chunk.data) > CHUNK_SIZE:  # just expired, or not written by Handrail
                return None
            data += chunk.data
        complete = len(data) == header.size and hashlib.sha256(data).hexdigest() == header.digest
        return bytes(data) if complete else None
