"""A machine's place among the others, for a while at a time. In: its name, and what it tells of itself. Out: a lease.

The servers forget the entry when nobody wrote it anew for `ttl`. Whoever holds it counts from before it sent what was
acknowledged last, so it knows earlier than anybody else that its time is over.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec.structs import replace

from handrail.bridge.cluster.leases.entries import Conflict, Entries, Entry
from handrail.bridge.cluster.records import Node, Timing
from handrail.bridge.errors import ClusterAway, ClusterRefused

__all__ = ["Lapsed", "Lease", "node_of"]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(Node)


class Lapsed(Exception):
    """The lease is gone for certain: it was deleted, it ran out, or another machine has the name."""


def node_of(value: bytes | None) -> Node | None:
    """What a machine told of itself; None where it cannot be read."""
    try:
        return _decoder.decode(value) if value is not None else None
    except msgspec.MsgspecError:
        return None


class Lease:
    """One name. `boot` is the life under which it is held, "" before the first.

    previous    the boot of the process that worked in the same data folder before: it is over, and its entry is ours
    keep_boot   is told of every new boot before anybody else can see it, to be given as `previous` next time
    """

    def __init__(
        self,
        entries: Entries,
        describe: Callable[[], Node],
        *,
        timing: Timing,
        clock: Callable[[], float],
        previous: str = "",
        keep_boot: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.name, self.boot, self.revision = describe().name, "", 0
        if not _NAME.fullmatch(self.name):
            raise ClusterRefused(f"a machine cannot be named {self.name!r}: letters, digits, - and _, at most 63")
        self._entries, self._describe, self._timing, self._clock = entries, describe, timing, clock
        self._keep_boot = keep_boot
        self._lives, self._next = {previous} - {""}, secrets.token_hex(8)
        self._since: float | None = None

    @property
    def left(self) -> float:
        """Seconds for which it certainly holds and may be used."""
        return 0.0 if self._since is None else max(0.0, self._since + self._timing.fence_after - self._clock())

    async def take(self) -> None:
        """Begin a new life. ClusterRefused where another machine has the name; ClusterAway."""
        if self._next not in self._lives:
            self._keep_boot(self._next)
            self._lives.add(self._next)
        while True:
            there = await self._until_free()
            sent = self._clock()
            try:
                self.revision = await self._write(self._next, there.revision)
            except Conflict:
                continue
            self.boot, self._next, self._since = self._next, secrets.token_hex(8), sent
            return

    async def renew(self) -> None:
        """Write it anew. Lapsed where it is gone; ClusterAway where that cannot be told now."""
        while True:
            sent = self._clock()
            try:
                self.revision, self._since = await self._write(self.boot, self.revision), sent
            except Conflict:
                there = await self._entries.read(self.name)
                node = node_of(there.value)
                if node is not None and node.boot == self.boot:  # our own words, of which the answer was lost
                    self.revision = there.revision
                    continue
                if await self._entries.confirm(self.name, there.revision, by=self.name):
                    raise Lapsed(_who(node) if node is not None else "its entry is gone") from None
                raise ClusterAway("NATS is not sure who has the name just now") from None
            return

    def end(self) -> None:
        """Count on it no longer."""
        self._since = None

    async def give_back(self) -> None:
        """Take the entry away, where it is still there: others see at once that this machine left."""
        self.end()
        if self.revision:
            await self._entries.remove(self.name, after=self.revision, ttl=self._timing.ttl)

    async def _write(self, boot: str, after: int) -> int:
        node = replace(self._describe(), boot=boot)
        return await self._entries.write(self.name, _encoder.encode(node), after=after, ttl=self._timing.ttl)

    async def _until_free(self) -> Entry:
        """What stands under the name, once no other machine does. Whether one lives is seen by its writing anew."""
        first = there = await self._entries.read(self.name)
        give_up = self._clock() + 2 * self._timing.ttl
        while there.value is not None and not self._is_ours(there):
            if there.revision != first.revision or self._clock() > give_up:
                node = node_of(there.value)
                whose = _who(node) if node is not None else "its entry cannot be read"
                raise ClusterRefused(f"there is a machine {self.name} already ({whose}): give this one another name")
            await asyncio.sleep(self._timing.renew / 4)
            there = await self._entries.read(self.name)
        return there

    def _is_ours(self, entry: Entry) -> bool:
        node = node_of(entry.value)
        return node is not None and node.boot in self._lives


def _who(node: Node) -> str:
    return f"it has its page at {node.address}" if node.address else f"boot {node.boot}, without a page"
