"""Ownership of sessions in a cluster: one entry per session in the owners bucket.

The entry names the current or last owner and its epoch. It is changed by compare-and-swap, so one of two competing
machines wins. It is valid as long as the lease under which it was written; if the sessions of the owner do not move,
until an administrator declares the machine lost with `forget`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final
from weakref import WeakValueDictionary

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from nats.js import JetStreamContext

from handrail.bridge.cluster.leases.entries import Conflict, Entries
from handrail.bridge.cluster.leases.lease import node_of
from handrail.bridge.cluster.leases.membership import Membership, end_tasks
from handrail.bridge.cluster.nats.names import NODES, OWNERS
from handrail.bridge.errors import ClusterAway, ClusterRefused, Fenced

__all__ = ["JetStreamOwnership", "Owner", "forget_node"]

log = logging.getLogger("handrail.bridge")
_RETRY: Final = 0.5
"""Seconds between attempts while NATS does not respond."""
_DAY: Final = 24 * 60 * 60.0
"""Seconds for which NATS keeps the owner of a deleted session."""


class Owner(Struct, frozen=True, kw_only=True):
    """The current or last owner of a session. `epoch` increases with every owner; `held` is False after a release."""

    node: str
    boot: str
    epoch: int
    held: bool = True
    moves: bool = True


_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(Owner)


class _Hold(Struct):
    """A session that this machine holds.

    epoch     0 while the claim is not on NATS yet
    boot      boot of this machine under which it was claimed
    revision  revision of the owner entry
    ready     the store is up to date and the session may be used
    """

    epoch: int = 0
    boot: str = ""
    revision: int = 0
    ready: bool = False


async def _ignore(session: str, epoch: int) -> None:
    """The default `on_claimed`, for an ownership without a store."""


async def _always(session: str) -> bool:
    return True


class JetStreamOwnership:
    """The sessions of this machine.

    moves         other machines may claim its sessions after its lease expired; otherwise they stay, also without NATS
    on_claimed    brings the store up to date before a claim succeeds; if it fails, the session is released
    on_release    returns whether other machines can read all events of the session; if not, the session stays held
    epoch_before  epoch under which the local store lists the session as held, or None; without NATS that is enough if
                  sessions do not move
    on_lost       awaited with a session that another machine owns now
    retry_for     seconds for which a claim is retried while NATS does not respond within `timeout`
    """

    def __init__(
        self,
        js: JetStreamContext,
        membership: Membership,
        *,
        moves: bool,
        on_claimed: Callable[[str, int], Awaitable[None]] = _ignore,
        on_release: Callable[[str], Awaitable[bool]] = _always,
        epoch_before: Callable[[str], int | None] = lambda _: None,
        retry_for: float = 8.0,
        timeout: float = 3.0,
    ) -> None:
        self._js, self._entries, self._membership = js, Entries(js, OWNERS, timeout=timeout), membership
        self._moves, self._retry_for = moves, retry_for
        self._on_claimed, self._on_release, self._epoch_before = on_claimed, on_release, epoch_before
        self.on_lost: list[Callable[[str], Awaitable[None]]] = []
        self._held: dict[str, _Hold] = {}
        self._stale: set[str] = set()
        """Sessions not held here although NATS names this machine as owner, or may do so when a late write arrives."""
        self._claiming: dict[str, asyncio.Task[bool]] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._settling: asyncio.Task[None] | None = None
        membership.on_fenced.append(self._fenced)
        membership.on_regained.append(self._regained)

    @property
    def held(self) -> set[str]:
        """The sessions that this machine owns now."""
        return {session for session in self._held if self.holds(session)}

    def holds(self, session: str) -> bool:
        """Whether this machine certainly owns the session now."""
        hold = self._held.get(session)
        return hold is not None and hold.ready and self._is_valid(hold)

    def epoch(self, session: str) -> int:
        """The epoch of a session owned by this machine; 0 for any other, or while the claim is not on NATS yet."""
        hold = self._held.get(session)
        return hold.epoch if hold is not None and self._is_valid(hold) else 0

    async def claim(self, session: str, *, new: bool = False) -> bool:
        """Claim a session; return False if another machine owns it. Raises ClusterAway if NATS is needed and away."""
        if self.holds(session):
            return True
        claiming = self._claiming.get(session)
        if claiming is None:
            claiming = self._claiming[session] = asyncio.create_task(self._claim(session, new=new))
            claiming.add_done_callback(partial(self._claimed, session))
        return await asyncio.shield(claiming)

    async def release(self, session: str, *, gone: bool = False) -> None:
        """Release a session that may move. If NATS is away, the release is published later."""
        if not (self._moves or gone):
            return  # it stays held, so that it can continue without NATS
        async with self._lock(session):
            hold = self._held.get(session)
            if hold is None or not self._is_valid(hold):
                return
            if (gone or await self._on_release(session)) and self._held.get(session) is hold:
                del self._held[session]
                await self._write_released(session, hold, gone=gone)

    async def owner(self, session: str) -> str:
        """The machine with a lease that owns a session; "" for none. Raises ClusterAway."""
        if self.holds(session):
            return self._membership.name
        owner = await self.last(session)
        if owner is None or not owner.held or owner.node == self._membership.name:
            return ""
        node = await self._membership.present(owner.node)
        return owner.node if node is not None and (node.boot == owner.boot or not owner.moves) else ""

    async def last(self, session: str) -> Owner | None:
        """The current or last owner of a session, with or without a lease. Raises ClusterAway."""
        return _owner_of((await self._entries.read(session)).value)

    async def lost(self, session: str) -> None:
        """Drop a session that another machine owns now, and notify `on_lost`."""
        if self._held.pop(session, None) is None:
            return
        log.warning("session %s has another owner now", session)
        for notify in self.on_lost:
            try:
                await notify(session)
            except Exception:
                log.exception("a handler of lost sessions failed (session %s)", session)

    async def forget(self, node: str) -> int:
        """See `forget_node`."""
        return await forget_node(self._js, node)

    async def settle(self) -> None:
        """Wait until all postponed claims and releases are on NATS."""
        while self._settling is not None and not self._settling.done():
            await asyncio.wait([self._settling])

    async def close(self) -> None:
        """Stop all requests to NATS. Held sessions stay held."""
        await end_tasks([*self._claiming.values(), self._settling])

    def _is_valid(self, hold: _Hold) -> bool:
        return not self._moves or (self._membership.valid and hold.boot == self._membership.boot)

    def _lock(self, session: str) -> asyncio.Lock:
        return self._locks.setdefault(session, asyncio.Lock())

    def _claimed(self, session: str, claiming: asyncio.Task[bool]) -> None:
        del self._claiming[session]
        if not claiming.cancelled():
            claiming.exception()  # retrieved here, because the callers may have been cancelled

    async def _claim(self, session: str, *, new: bool) -> bool:
        async with self._lock(session):
            if self.holds(session):
                return True
            owned_without_nats = not self._moves and (new or self._epoch_before(session) is not None)
            try:
                return await self._acquire(session, retry_for=0.0 if owned_without_nats else self._retry_for)
            except ClusterAway:
                if not owned_without_nats:
                    raise
            self._held[session] = _Hold(ready=True)
            self._stale.discard(session)
            self._settle_soon()
            return True

    async def _acquire(self, session: str, *, retry_for: float) -> bool:
        """Write the owner entry and bring the store up to date; return False if another machine owns the session."""
        hold = await self._write_with_retry(session, retry_for)
        if hold is None:
            return False
        self._held[session] = hold
        try:
            await self._on_claimed(session, hold.epoch)
            if not self._is_valid(hold):
                raise ClusterAway("the lease of this machine expired during a claim")
        except BaseException:
            if self._held.get(session) is hold:
                del self._held[session]
            await self._write_released(session, hold)
            raise
        hold.ready = True
        return self._held.get(session) is hold  # else another machine took it meanwhile

    async def _write_with_retry(self, session: str, retry_for: float) -> _Hold | None:
        clock = asyncio.get_running_loop().time
        give_up = clock() + retry_for
        while True:
            try:
                return await self._write(session)
            except ClusterAway:
                if clock() + _RETRY > give_up:
                    raise
            await asyncio.sleep(_RETRY)

    async def _write(self, session: str, *, held: bool = True) -> _Hold | None:
        """Write this machine as owner under the next epoch; return None if another machine owns the session."""
        while True:
            boot = self._membership.boot
            if not self._membership.valid:
                raise ClusterAway("this machine lacks a lease in the cluster")
            there = await self._entries.read(session)
            before = _owner_of(there.value)
            if before is not None and not await self._is_free(before):
                if session in self._stale and not await self._entries.confirm(
                    session, there.revision, by=self._membership.name
                ):
                    continue
                self._stale.discard(session)
                return None
            # Without a readable entry the last epoch is unknown, but no epoch exceeds the revision of its entry.
            epoch = before.epoch + 1 if before is not None else there.revision + 1
            mine = Owner(node=self._membership.name, boot=boot, epoch=epoch, held=held, moves=self._moves)
            try:
                revision = await self._entries.write(session, _encoder.encode(mine), after=there.revision)
            except Conflict:
                continue
            except ClusterAway:  # it may have been written, or may arrive later
                self._stale.add(session)
                self._settle_soon()
                raise
            self._stale.discard(session)
            return _Hold(epoch=epoch, boot=boot, revision=revision)

    async def _is_free(self, owner: Owner) -> bool:
        """Whether a session of this owner may be claimed. An entry of an earlier boot of this machine always may."""
        if not owner.held or owner.node == self._membership.name:
            return True
        return owner.moves and not await self._membership.alive(owner.node, owner.boot)

    async def _write_released(self, session: str, hold: _Hold, *, gone: bool = False) -> None:
        """Mark the entry as released, unless it has changed."""
        if not hold.epoch:
            return
        free = Owner(node=self._membership.name, boot=hold.boot, epoch=hold.epoch, held=False, moves=self._moves)
        try:
            await self._entries.write(session, _encoder.encode(free), after=hold.revision, ttl=_DAY if gone else None)
        except (Conflict, ClusterAway):  # changed, or the answering server is outdated: `_settle` finds out
            self._stale.add(session)
            self._settle_soon()

    async def _fenced(self) -> None:
        if self._moves:
            self._held.clear()
            self._stale.clear()  # other machines ignore the entries of an expired boot

    async def _regained(self) -> None:
        self._settle_soon()

    def _settle_soon(self) -> None:
        if self._settling is None or self._settling.done():
            self._settling = asyncio.create_task(self._settle(), name="handrail ownership")

    async def _settle(self) -> None:
        """Publish postponed claims and releases, retrying until all are done."""
        while unsettled := [*self._unsettled(), *self._stale]:
            failed = False
            for session in unsettled:
                try:
                    async with self._lock(session):
                        ours = await self._settle_session(session)
                    if not ours:
                        await self.lost(session)
                except ClusterAway as error:
                    log.debug("the claim of session %s is not on NATS yet: %s", session, error)
                    failed = True
                    break
                except Exception:
                    log.exception("claiming session %s again failed", session)
                    failed = True
            if failed:
                await asyncio.sleep(_RETRY)

    def _unsettled(self) -> list[str]:
        now = self._membership.boot
        return [name for name, hold in self._held.items() if hold.ready and (hold.boot != now or not hold.epoch)]

    async def _settle_session(self, session: str) -> bool:
        """Bring the entry of a session up to date; return False if another machine owns a session held here."""
        hold = self._held.get(session)
        if hold is None:
            if session in self._stale:
                await self._write(session, held=False)
            return True
        self._stale.discard(session)
        there = await self._entries.read(session)
        before = _owner_of(there.value)
        if before is not None and before.node != self._membership.name:
            return False
        if before is not None and before.held and before.epoch == hold.epoch:
            return await self._rewrite(session, hold, there.revision)
        return await self._claim_postponed(session, hold)

    async def _rewrite(self, session: str, hold: _Hold, revision: int) -> bool:
        """Write the current boot into an entry that names this machine under the same epoch."""
        boot = self._membership.boot
        if not self._membership.valid:
            raise ClusterAway("this machine lacks a lease in the cluster")
        mine = Owner(node=self._membership.name, boot=boot, epoch=hold.epoch, moves=self._moves)
        try:
            hold.revision = await self._entries.write(session, _encoder.encode(mine), after=revision)
        except Conflict:
            return True  # `_settle` reads the new entry in its next round
        hold.boot = boot
        return True

    async def _claim_postponed(self, session: str, hold: _Hold) -> bool:
        """Publish a claim that was made without NATS; the events written since follow."""
        written = await self._write(session)
        if written is None:
            return False
        hold.epoch, hold.boot, hold.revision = written.epoch, written.boot, written.revision
        try:
            await self._on_claimed(session, hold.epoch)
        except Fenced:
            return False
        except BaseException:
            hold.epoch = 0  # so that it is retried
            raise
        return True


async def forget_node(js: JetStreamContext, node: str) -> int:
    """Release all sessions of a machine that will not return; return their number.

    Raises ClusterRefused if the machine has a lease, or ClusterAway.
    """
    if node_of((await Entries(js, NODES).read(node)).value) is not None:
        raise ClusterRefused(f"machine {node} is running; stop it first")
    entries = Entries(js, OWNERS)
    return sum([await _released(entries, session, node) for session in await entries.all()])


async def _released(entries: Entries, session: str, node: str) -> bool:
    while True:
        there = await entries.read(session)
        owner = _owner_of(there.value)
        if owner is None or not owner.held or owner.node != node:
            return False
        try:
            await entries.write(session, _encoder.encode(replace(owner, held=False)), after=there.revision)
        except Conflict:
            continue
        return True


def _owner_of(value: bytes | None) -> Owner | None:
    try:
        return _decoder.decode(value) if value is not None else None
    except msgspec.MsgspecError:
        return None
