"""Ownership among many machines. In: a session. Out: whether it is ours, by an entry that only one can write.

Each session has one entry that says who runs it, or ran it last, and under which epoch. It is changed only in place of
the revision that was read, so of two that want it one is first. It counts as long as the lease of that life of the
machine; where its sessions do not move, until a person says that the machine is gone.
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

from handrail.bridge.cluster.ending import end_tasks
from handrail.bridge.cluster.leases.entries import Conflict, Entries
from handrail.bridge.cluster.leases.lease import node_of
from handrail.bridge.cluster.leases.membership import Membership
from handrail.bridge.cluster.names import NODES, OWNERS
from handrail.bridge.cluster.records import Owner
from handrail.bridge.errors import ClusterAway, ClusterRefused, Fenced

__all__ = ["JetStreamOwnership", "forget_node"]

log = logging.getLogger("handrail.bridge")
_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(Owner)
_AGAIN: Final = 0.5
"""Seconds until what could not be written is tried again."""
_DAY: Final = 24 * 60 * 60.0
"""For so long it stays on record who had a session that was deleted."""


class _Hold(Struct):
    """What we have of a session.

    epoch     0 while NATS does not know yet that it is ours
    boot      the life of this machine under which NATS knows it
    revision  of the entry that says so
    ready     it was brought up to date, and may be worked on
    """

    epoch: int = 0
    boot: str = ""
    revision: int = 0
    ready: bool = False


async def _nothing(session: str, epoch: int) -> None:
    """Whoever has no store has nothing to bring up to date."""


async def _yes(session: str) -> bool:
    return True


class JetStreamOwnership:
    """The sessions of this machine.

    moves         others may take ours up once our lease has lapsed; without it they stay ours, also without NATS
    on_claimed    brings our store up to date before a claim is true; where it fails, the session is given back
    on_release    whether all that we wrote of a session is where others can read it: else it stays ours
    known_before  the epoch under which our own store knows a session as ours and not let go: then it is, without NATS
    on_lost       told of a session that another machine has now
    patience      seconds in which a claim is tried again where NATS does not answer, `timeout` each time
    """

    def __init__(
        self,
        js: JetStreamContext,
        membership: Membership,
        *,
        moves: bool,
        on_claimed: Callable[[str, int], Awaitable[None]] = _nothing,
        on_release: Callable[[str], Awaitable[bool]] = _yes,
        known_before: Callable[[str], int | None] = lambda _: None,
        patience: float = 8.0,
        timeout: float = 3.0,
    ) -> None:
        self._js, self._entries, self._membership = js, Entries(js, OWNERS, timeout=timeout), membership
        self._moves, self._patience = moves, patience
        self._on_claimed, self._on_release, self._known_before = on_claimed, on_release, known_before
        self.on_lost: list[Callable[[str], Awaitable[None]]] = []
        self._held: dict[str, _Hold] = {}
        self._loose: set[str] = set()
        """Of these NATS believes, or may yet, that they are ours, and they are not."""
        self._claiming: dict[str, asyncio.Task[bool]] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._settling: asyncio.Task[None] | None = None
        membership.on_fenced.append(self._fenced)
        membership.on_regained.append(self._regained)

    @property
    def held(self) -> set[str]:
        """The sessions that are ours."""
        return {session for session in self._held if self.holds(session)}

    def holds(self, session: str) -> bool:
        """Whether a session is ours now, for certain."""
        hold = self._held.get(session)
        return hold is not None and hold.ready and self._counts(hold)

    def epoch(self, session: str) -> int:
        """Under which a session is ours; 0 where it is not, or where NATS does not know it yet."""
        hold = self._held.get(session)
        return hold.epoch if hold is not None and self._counts(hold) else 0

    async def claim(self, session: str, *, new: bool = False) -> bool:
        """Take it. ClusterAway where NATS must be asked and does not answer."""
        if self.holds(session):
            return True
        claiming = self._claiming.get(session)
        if claiming is None:
            claiming = self._claiming[session] = asyncio.create_task(self._claim(session, new=new))
            claiming.add_done_callback(partial(self._claimed, session))
        return await asyncio.shield(claiming)

    async def release(self, session: str, *, gone: bool = False) -> None:
        """Let it go, where it is ours and may move. Where NATS cannot be told now, it is told later."""
        if not (self._moves or gone):
            return  # it stays ours, so that it can go on without NATS
        async with self._lock(session):
            hold = self._held.get(session)
            if hold is None or not self._counts(hold):
                return
            if (gone or await self._on_release(session)) and self._held.get(session) is hold:
                del self._held[session]
                await self._let_go(session, hold, gone=gone)

    async def owner(self, session: str) -> str:
        """The machine that has it, and has a lease; "" for nobody. ClusterAway."""
        if self.holds(session):
            return self._membership.name
        owner = await self.last(session)
        if owner is None or not owner.held or owner.node == self._membership.name:
            return ""
        node = await self._membership.present(owner.node)
        return owner.node if node is not None and (node.boot == owner.boot or not owner.moves) else ""

    async def last(self, session: str) -> Owner | None:
        """Who has it or had it last, whether that machine is there or not. ClusterAway."""
        return _owner_of((await self._entries.read(session)).value)

    async def lost(self, session: str) -> None:
        """Another machine has it: it is not ours any more."""
        if self._held.pop(session, None) is None:
            return
        log.warning("session %s has another owner now", session)
        for tell in self.on_lost:
            try:
                await tell(session)
            except Exception:
                log.exception("session %s was not given up as it should", session)

    async def forget(self, node: str) -> int:
        """Free what a machine had that is gone for good. Out: how many. ClusterRefused where it lives; ClusterAway."""
        return await forget_node(self._js, node)

    async def settle(self) -> None:
        """Until NATS knows all that it could not be told when it was so."""
        while self._settling is not None and not self._settling.done():
            await asyncio.wait([self._settling])

    async def close(self) -> None:
        """Tell nothing more. What is ours stays so."""
        await end_tasks([*self._claiming.values(), self._settling])

    def _counts(self, hold: _Hold) -> bool:
        return not self._moves or (self._membership.valid and hold.boot == self._membership.boot)

    def _lock(self, session: str) -> asyncio.Lock:
        return self._locks.setdefault(session, asyncio.Lock())

    def _claimed(self, session: str, claiming: asyncio.Task[bool]) -> None:
        del self._claiming[session]
        if not claiming.cancelled():
            claiming.exception()  # whoever asked may be gone

    async def _claim(self, session: str, *, new: bool) -> bool:
        async with self._lock(session):
            if self.holds(session):
                return True
            ours_anyway = not self._moves and (new or self._known_before(session) is not None)
            try:
                return await self._take(session, patience=0.0 if ours_anyway else self._patience)
            except ClusterAway:
                if not ours_anyway:
                    raise
            self._held[session] = _Hold(ready=True)
            self._loose.discard(session)
            self._settle_soon()
            return True

    async def _take(self, session: str, *, patience: float) -> bool:
        """Have our name written, and our store brought up to date. Out: False where another machine has it."""
        hold = await self._written_in_time(session, patience)
        if hold is None:
            return False
        self._held[session] = hold
        try:
            await self._on_claimed(session, hold.epoch)
            if not self._counts(hold):
                raise ClusterAway("this machine's lease ended while it took up a session")
        except BaseException:
            if self._held.get(session) is hold:
                del self._held[session]
            await self._let_go(session, hold)
            raise
        hold.ready = True
        return self._held.get(session) is hold  # else it was lost to another meanwhile

    async def _written_in_time(self, session: str, patience: float) -> _Hold | None:
        clock = asyncio.get_running_loop().time
        give_up = clock() + patience
        while True:
            try:
                return await self._write(session)
            except ClusterAway:
                if clock() + _AGAIN > give_up:
                    raise
            await asyncio.sleep(_AGAIN)

    async def _write(self, session: str, *, held: bool = True) -> _Hold | None:
        """Write our name under the next epoch. Out: None where another machine has the session."""
        while True:
            boot = self._membership.boot
            if not self._membership.valid:
                raise ClusterAway("this machine has no lease in the cluster just now")
            there = await self._entries.read(session)
            before = _owner_of(there.value)
            if before is not None and not await self._is_free(before):
                if session in self._loose and not await self._entries.confirm(
                    session, there.revision, by=self._membership.name
                ):
                    continue
                self._loose.discard(session)
                return None
            epoch = before.epoch + 1 if before is not None else there.revision + 1  # above all that ever were
            mine = Owner(node=self._membership.name, boot=boot, epoch=epoch, held=held, moves=self._moves)
            try:
                revision = await self._entries.write(session, _encoder.encode(mine), after=there.revision)
            except Conflict:
                continue
            except ClusterAway:  # it may have been written, or may yet be
                self._loose.add(session)
                self._settle_soon()
                raise
            self._loose.discard(session)
            return _Hold(epoch=epoch, boot=boot, revision=revision)

    async def _is_free(self, owner: Owner) -> bool:
        """Whether we may have what this one has. Of this machine's lives all but the present one are over."""
        if not owner.held or owner.node == self._membership.name:
            return True
        return owner.moves and not await self._membership.alive(owner.node, owner.boot)

    async def _let_go(self, session: str, hold: _Hold, *, gone: bool = False) -> None:
        """Write that nobody has it, where what stands there is still ours."""
        if not hold.epoch:
            return
        free = Owner(node=self._membership.name, boot=hold.boot, epoch=hold.epoch, held=False, moves=self._moves)
        try:
            await self._entries.write(session, _encoder.encode(free), after=hold.revision, ttl=_DAY if gone else None)
        except (Conflict, ClusterAway):  # another has it, or whoever answered was not up to date: that is looked at
            self._loose.add(session)
            self._settle_soon()

    async def _fenced(self) -> None:
        if self._moves:
            self._held.clear()
            self._loose.clear()  # that life is over: what NATS believes of it keeps nobody

    async def _regained(self) -> None:
        self._settle_soon()

    def _settle_soon(self) -> None:
        if self._settling is None or self._settling.done():
            self._settling = asyncio.create_task(self._settle(), name="handrail ownership")

    async def _settle(self) -> None:
        """Tell NATS what it does not know. Where it does not answer: again, for as long as it takes."""
        while unsettled := [*self._unsettled(), *self._loose]:
            failed = False
            for session in unsettled:
                try:
                    async with self._lock(session):
                        ours = await self._settled(session)
                    if not ours:
                        await self.lost(session)
                except ClusterAway as error:
                    log.debug("NATS does not know yet whether session %s is ours: %s", session, error)
                    failed = True
                    break
                except Exception:
                    log.exception("session %s was not taken up again as it should", session)
                    failed = True
            if failed:
                await asyncio.sleep(_AGAIN)

    def _unsettled(self) -> list[str]:
        now = self._membership.boot
        return [name for name, hold in self._held.items() if hold.ready and (hold.boot != now or not hold.epoch)]

    async def _settled(self, session: str) -> bool:
        """Whether what NATS knows of a session is true now. Out: False where we went on with one that is another's."""
        hold = self._held.get(session)
        if hold is None:
            if session in self._loose:
                await self._write(session, held=False)
            return True
        self._loose.discard(session)
        there = await self._entries.read(session)
        before = _owner_of(there.value)
        if before is not None and before.node != self._membership.name:
            return False
        if before is not None and before.held and before.epoch == hold.epoch:
            return await self._say_again(session, hold, there.revision)
        return await self._take_up_again(session, hold)

    async def _say_again(self, session: str, hold: _Hold, revision: int) -> bool:
        """It was ours all the time, only this life of the machine is another."""
        boot = self._membership.boot
        if not self._membership.valid:
            raise ClusterAway("this machine has no lease in the cluster just now")
        mine = Owner(node=self._membership.name, boot=boot, epoch=hold.epoch, moves=self._moves)
        try:
            hold.revision = await self._entries.write(session, _encoder.encode(mine), after=revision)
        except Conflict:
            return True  # what stands there now is looked at the next time
        hold.boot = boot
        return True

    async def _take_up_again(self, session: str, hold: _Hold) -> bool:
        """We went on without NATS: now it is told, and what was written meanwhile follows."""
        written = await self._write(session)
        if written is None:
            return False
        hold.epoch, hold.boot, hold.revision = written.epoch, written.boot, written.revision
        try:
            await self._on_claimed(session, hold.epoch)
        except Fenced:
            return False
        except BaseException:
            hold.epoch = 0  # so that it is done again
            raise
        return True


async def forget_node(js: JetStreamContext, node: str) -> int:
    """Free what a machine had that is gone for good. Out: how many. ClusterRefused where it lives; ClusterAway."""
    if node_of((await Entries(js, NODES).read(node)).value) is not None:
        raise ClusterRefused(f"machine {node} is there: stop it first")
    entries = Entries(js, OWNERS)
    return sum([await _freed(entries, session, node) for session in await entries.all()])


async def _freed(entries: Entries, session: str, node: str) -> bool:
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
