"""One session as one client of the early bridge protocol follows it. In: its host. Out: messages, none lost or doubled.

It reads what is on record up to a number, and everything later from the feed. Where the client read too slowly for the
feed, it goes on from the record: only deltas are missing then, and what they said comes whole.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec

from handrail.bridge.session.feed import CutOff, FollowedSession
from handrail.bridge.web.dialects.ccpocket_messages import Translation, joined

__all__ = ["Following"]

JsonObject = dict[str, Any]
MOST_BYTES: Final = 256 * 1024


class _Item(msgspec.Struct):
    """An item of the feed; one that is very large comes without its data."""

    kind: str
    seq: int = 0
    data: msgspec.Raw = msgspec.Raw(b"")


_decode_items: Final = msgspec.json.Decoder(list[_Item]).decode


class Following:
    """A place in a session. `more` is set when there is something to send."""

    def __init__(self, host: FollowedSession, more: asyncio.Event) -> None:
        self.host, self._more = host, more
        self.translation = Translation(host.record.id)
        self._sent = 0
        self._so_far: list[bytes] = []
        self._join()

    @classmethod
    async def begin(
        cls, host: FollowedSession, more: asyncio.Event, *, after: int = 0
    ) -> tuple[Following, list[bytes]]:
        """Follow a session. Out: the place after all that is on record, and that from a number on, encoded."""
        following = cls(host, more)
        try:
            return following, await following._catch_up(after)
        except BaseException:
            following.close()
            raise

    def _join(self) -> None:
        """From now on everything comes by the feed; what is older is read from the record."""
        self._follower = self.host.feed.follow()
        self._follower.on_wake = self._more
        self._until = self.host.seq

    @property
    def pending(self) -> bool:
        """Is there something to send?"""
        return self._sent < self._until or bool(self._so_far) or self._follower.pending

    async def _catch_up(self, after: int) -> list[bytes]:
        """Read the record up to now; the block that is being said comes next."""
        self._sent, self._so_far = after, self.host.partial.so_far()
        lines: list[bytes] = []
        while self._sent < self._until:
            lines += map(msgspec.json.encode, await self._from_record())
        return lines

    async def next(self) -> list[JsonObject]:
        """What comes next."""
        if self._sent < self._until:
            return await self._from_record()
        if self._so_far:
            so_far, self._so_far = self._so_far, []
            return joined(line for raw in so_far for line in self._translated("live", raw))
        try:
            items = _decode_items(b"[%s]" % self._follower.take(MOST_BYTES))
        except CutOff:
            self._follower.close()
            self._join()
            return []
        lines: list[JsonObject] = []
        for item in items:
            lines += self._translated(item.kind, await self._data(item))
            self._sent = self._until = item.seq or self._sent
        return joined(lines)

    async def _from_record(self) -> list[JsonObject]:
        page = await self.host.read(self._sent, most_bytes=MOST_BYTES)
        page = [event for event in page if event.seq <= self._until]
        self._sent = page[-1].seq if page else self._until
        return [line for event in page for line in self._translated(event.kind, event.data)]

    async def _data(self, item: _Item) -> bytes:
        if data := bytes(item.data):
            return data
        found = await self.host.read(item.seq - 1, most_bytes=1)
        return found[0].data if found and found[0].seq == item.seq else b"{}"

    def _translated(self, kind: str, data: bytes) -> list[JsonObject]:
        try:
            fields: JsonObject = msgspec.json.decode(data, type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError):
            return []  # the CLI may write what it likes
        return self.translation.take(kind, fields)

    def close(self) -> None:
        """Follow no more."""
        self._follower.close()
