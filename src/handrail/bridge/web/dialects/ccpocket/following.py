"""One session as one client follows it: every durable event once, in order.

Events up to a sequence number are read from the event log, later ones from the feed. When the client reads so slowly
that the feed drops its place, reading resumes from the log; only deltas are lost then, and the finished block follows.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec

from handrail.bridge.session.feed import CutOff, FollowedSession
from handrail.bridge.web.dialects.ccpocket.translation import Translation, joined

__all__ = ["Following"]

JsonObject = dict[str, Any]
PAGE_BYTES: Final = 256 * 1024


class _Item(msgspec.Struct):
    """An item of the feed. `data` is empty for an event too large for the feed."""

    kind: str
    seq: int = 0
    data: msgspec.Raw = msgspec.Raw(b"")


_decode_items: Final = msgspec.json.Decoder(list[_Item]).decode


class Following:
    """A position in a session. `more` is set when there is something to send."""

    def __init__(self, host: FollowedSession, more: asyncio.Event) -> None:
        self.host, self._more = host, more
        self.translation = Translation(host.record.id)
        self._sent = 0
        self._partial: list[bytes] = []
        self._join()

    @classmethod
    async def begin(
        cls, host: FollowedSession, more: asyncio.Event, *, after: int = 0
    ) -> tuple[Following, list[bytes]]:
        """Follow a session from now on. Also returns the encoded messages of the events after `after`."""
        following = cls(host, more)
        try:
            return following, await following._catch_up(after)
        except BaseException:
            following.close()
            raise

    def _join(self) -> None:
        # No await between these lines: the feed must start exactly where reading the log ends.
        self._follower = self.host.feed.follow()
        self._follower.on_wake = self._more
        self._until = self.host.seq

    @property
    def pending(self) -> bool:
        """Whether next() has something to return."""
        return self._sent < self._until or bool(self._partial) or self._follower.pending

    async def _catch_up(self, after: int) -> list[bytes]:
        """Read the log up to the feed's start; the block being streamed is sent next."""
        self._sent, self._partial = after, self.host.partial.so_far()
        lines: list[bytes] = []
        while self._sent < self._until:
            lines += map(msgspec.json.encode, await self._read_log())
        return lines

    async def next(self) -> list[JsonObject]:
        """The next messages; may be empty."""
        if self._sent < self._until:
            return await self._read_log()
        if self._partial:
            partial, self._partial = self._partial, []
            return joined(line for raw in partial for line in self._translate("live", raw))
        try:
            items = _decode_items(b"[%s]" % self._follower.take(PAGE_BYTES))
        except CutOff:
            self._follower.close()
            self._join()
            return []
        lines: list[JsonObject] = []
        for item in items:
            lines += self._translate(item.kind, await self._data(item))
            self._sent = self._until = item.seq or self._sent
        return joined(lines)

    async def _read_log(self) -> list[JsonObject]:
        page = await self.host.read(self._sent, most_bytes=PAGE_BYTES)
        page = [event for event in page if event.seq <= self._until]
        self._sent = page[-1].seq if page else self._until
        return [line for event in page for line in self._translate(event.kind, event.data)]

    async def _data(self, item: _Item) -> bytes:
        if data := bytes(item.data):
            return data
        found = await self.host.read(item.seq - 1, most_bytes=1)
        return found[0].data if found and found[0].seq == item.seq else b"{}"

    def _translate(self, kind: str, data: bytes) -> list[JsonObject]:
        try:
            fields: JsonObject = msgspec.json.decode(data, type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError):
            return []  # a CLI may write any JSON
        return self.translation.translate(kind, fields)

    def close(self) -> None:
        """Stop following."""
        self._follower.close()
