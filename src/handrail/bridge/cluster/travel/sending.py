"""Sends what is new of a conversation's files. In: the files, and what the store has. Out: what it has now."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import ParamSpec, TypeVar

from handrail.bridge.cluster.travel.conversation_files import Reading, Stamp
from handrail.bridge.cluster.travel.manifest import TRANSCRIPT, Manifest, Piece, StoredFile
from handrail.bridge.cluster.travel.pieces import Pieces
from handrail.transcripts import SessionFile, TranscriptError

__all__ = ["Sending", "in_thread"]


T = TypeVar("T")
P = ParamSpec("P")


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do it beside all else, to its end also where nobody waits any more: its files are closed only afterwards."""
    task = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        raise


class Sending:
    """One time of keeping. `sent`: the names of the pieces; `stamps`: of the files as they are kept now."""

    def __init__(
        self, pieces: Pieces, id: str, file: SessionFile, before: Manifest, known: Mapping[str, Stamp]
    ) -> None:
        self._pieces, self._id, self._file, self._known = pieces, id, file, known
        self._stored = {one.path: one for one in before.files}
        self.sent: list[str] = []
        self.stamps: dict[str, Stamp] = {}

    async def send(self, found: Mapping[str, Stamp]) -> tuple[StoredFile, ...]:
        """All that is new. Out: the files as they are kept now."""
        kept: list[StoredFile] = []
        for path, stamp in found.items():
            stored = self._stored.get(path)
            if stored is not None and self._known.get(path) == stamp:
                self.stamps[path] = stamp
                kept.append(stored)
                continue
            try:
                kept.append(await self._send(path, stored))
            except TranscriptError:
                if path == TRANSCRIPT:
                    raise  # the others may come and go
        return tuple(kept)

    async def _send(self, path: str, stored: StoredFile | None) -> StoredFile:
        with Reading(self._file, path) as reading:
            pieces = [*await in_thread(reading.begin, stored)]
            while data := await in_thread(reading.next):
                name = secrets.token_hex(8)
                self.sent.append(name)
                await self._pieces.put(self._id, name, data=data)
                pieces.append(Piece(name, len(data)))
            self.stamps[path] = reading.stamp
            return reading.done(pieces)
