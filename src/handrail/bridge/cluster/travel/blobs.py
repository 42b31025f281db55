"""Pictures for all machines. In: an id, bytes. Out: the same bytes on any of them, for a day."""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec
from msgspec import Struct
from nats.js import JetStreamContext

from handrail.bridge.cluster.link.names import UPLOADS
from handrail.bridge.cluster.travel.pieces import PIECE, Pieces, is_name

__all__ = ["Blobs"]

MOST_PIECES: Final = 64


class _Head(Struct, frozen=True):
    """It is put last: what has none was never whole."""

    size: int
    digest: str
    pieces: int


class Blobs:
    """Bytes by id. The store itself forgets them after a day."""

    def __init__(self, js: JetStreamContext) -> None:
        self._pieces = Pieces(js, UPLOADS)

    async def put(self, id: str, data: bytes) -> None:
        """Keep them for all. ClusterAway where that cannot be just now; ValueError for what cannot be an id."""
        if not is_name(id):
            raise ValueError(f"{id[:60]!r} is no id of a picture")
        starts = range(0, len(data), PIECE)
        for n, start in enumerate(starts):
            await self._pieces.put(id, str(n), data=data[start : start + PIECE])
        head = _Head(len(data), hashlib.sha256(data).hexdigest(), len(starts))
        await self._pieces.put(id, data=msgspec.json.encode(head))

    async def get(self, id: str) -> bytes | None:
        """What was put; None where nothing is, or not all of it. ClusterAway where NATS does not answer."""
        found = await self._pieces.get(id) if is_name(id) else None
        if found is None:
            return None
        try:
            head = msgspec.json.decode(found.data, type=_Head)
        except msgspec.MsgspecError:
            return None
        data = bytearray()
        for n in range(head.pieces if head.pieces <= MOST_PIECES else 0):
            piece = await self._pieces.get(id, str(n))
            if piece is None or len(piece.data) > PIECE:  # its day is over just now, or it is none of ours
                return None
            data += piece.data
        whole = len(data) == head.size and hashlib.sha256(data).hexdigest() == head.digest
        return bytes(data) if whole else None
