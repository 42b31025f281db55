"""The lease of one machine: an entry in the nodes bucket, a `Node`, that expires unless it is renewed.

NATS removes the entry `ttl` seconds after the last write arrived. The holder counts from the moment before it sent the
last acknowledged write, so it always notices the expiry before any other machine.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from handrail.bridge.cluster.configuration import Timing, checked_name
from handrail.bridge.cluster.leases.entries import Conflict, Entries, Entry
from handrail.bridge.errors import ClusterAway, ClusterRefused

__all__ = ["Lease", "LeaseExpired", "Node", "node_of"]


class Node(Struct, frozen=True, kw_only=True):
    """One machine: a gateway, a runner, or both. It rewrites this entry every few seconds, which renews its lease.

    boot          identifies one lease; a machine whose lease expired rejoins with another one
    address       URL of its page; "" if it serves none
    runs          it runs sessions
    moves         other machines may take over its sessions after its lease expired, so it stops them in time when NATS
                  is unreachable; otherwise its sessions keep running and stay on it
    roots         folders in which its sessions may work
    labels        words by which clients choose it
    sessions      sessions with a process, of at most `most_sessions` (0: no limit)
    free_memory   bytes, of which `least_memory` must remain to start another session
    behind        events not yet published to NATS
    """

    name: str
    boot: str
    address: str = ""
    runs: bool = True
    moves: bool = True
    roots: list[str] = []
    labels: list[str] = []
    sessions: int = 0
    most_sessions: int = 0
    free_memory: int = 0
    least_memory: int = 0
    behind: int = 0
    cli: str = ""
    version: str = ""
    since: int = 0


_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(Node)


class LeaseExpired(Exception):
    """The lease is certainly lost: it expired, it was deleted, or another machine has the name."""


def node_of(value: bytes | None) -> Node | None:
    """Decode an entry of the nodes bucket; None if it is missing or invalid."""
    try:
        return _decoder.decode(value) if value is not None else None
    except msgspec.MsgspecError:
        return None


class Lease:
    """The lease for one name. `boot` identifies the current lease; it is "" before the first.

    previous    boot of the last process on the same data folder; that process has ended, so its entry may be replaced
    keep_boot   persists a new boot before any other machine can see it, to be passed as `previous` next time
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
        self.name, self.boot, self.revision = checked_name(describe().name), "", 0
        self._entries, self._describe, self._timing, self._clock = entries, describe, timing, clock
        self._keep_boot = keep_boot
        self._own_boots, self._next = {previous} - {""}, secrets.token_hex(8)
        self._since: float | None = None

    @property
    def left(self) -> float:
        """Seconds for which the lease may still be relied on."""
        return 0.0 if self._since is None else max(0.0, self._since + self._timing.fence_after - self._clock())

    async def acquire(self) -> None:
        """Acquire the lease with a new boot. Raises ClusterRefused if another machine has the name, or ClusterAway."""
        if self._next not in self._own_boots:
            self._keep_boot(self._next)
            self._own_boots.add(self._next)
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
        """Extend the lease. Raises LeaseExpired if it is lost, ClusterAway if that is unknown."""
        while True:
            sent = self._clock()
            try:
                self.revision, self._since = await self._write(self.boot, self.revision), sent
            except Conflict:
                there = await self._entries.read(self.name)
                node = node_of(there.value)
                if node is not None and node.boot == self.boot:  # our own write; its answer was lost
                    self.revision = there.revision
                    continue
                if await self._entries.confirm(self.name, there.revision, by=self.name):
                    raise LeaseExpired(_description(node) if node is not None else "the entry was deleted") from None
                raise ClusterAway("the NATS servers disagree about the lease of this machine") from None
            return

    def end(self) -> None:
        """Stop relying on the lease."""
        self._since = None

    async def release(self) -> None:
        """Delete the entry, so that other machines notice the departure at once."""
        self.end()
        if self.revision:
            await self._entries.remove(self.name, after=self.revision, ttl=self._timing.ttl)

    async def _write(self, boot: str, after: int) -> int:
        node = replace(self._describe(), boot=boot)
        return await self._entries.write(self.name, _encoder.encode(node), after=after, ttl=self._timing.ttl)

    async def _until_free(self) -> Entry:
        """Wait until no other machine has the name; return its entry.

        A live machine renews its entry, so a changed revision proves that the name is in use. The entry of a dead one
        expires.
        """
        first = there = await self._entries.read(self.name)
        give_up = self._clock() + 2 * self._timing.ttl
        while there.value is not None and not self._is_own(there):
            if there.revision != first.revision or self._clock() > give_up:
                node = node_of(there.value)
                whose = _description(node) if node is not None else "its entry is invalid"
                raise ClusterRefused(f"the machine name {self.name} is in use ({whose}); choose another name")
            await asyncio.sleep(self._timing.renew / 4)
            there = await self._entries.read(self.name)
        return there

    def _is_own(self, entry: Entry) -> bool:
        node = node_of(entry.value)
        return node is not None and node.boot in self._own_boots


def _description(node: Node) -> str:
    return f"page at {node.address}" if node.address else f"boot {node.boot}, without a page"
