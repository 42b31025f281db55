"""Which machines are there, this one among them. In: what this one tells of itself. Out: all of them, as they change.

A machine is there as long as it holds its lease. One that could not renew it for `fence_after` is fenced: it ends what
others may take up, and comes back under a new boot once that is over and NATS answers again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from nats.errors import Error
from nats.js import JetStreamContext
from nats.js.kv import KeyValue

from handrail.bridge.cluster.ending import end_tasks
from handrail.bridge.cluster.leases.entries import Entries
from handrail.bridge.cluster.leases.lease import Lapsed, Lease, node_of
from handrail.bridge.cluster.names import NODES
from handrail.bridge.cluster.records import Node, Timing
from handrail.bridge.errors import ClusterAway, ClusterRefused
from handrail.bridge.store.clock import since_boot

__all__ = ["Membership"]

log = logging.getLogger("handrail.bridge")
TIMING: Final = Timing()
_AGAIN: Final = 0.25
"""Seconds until the next try where NATS did not answer."""
_SOON: Final = 0.5
"""Seconds that NATS has for an answer, at least."""
_MOST_DEAD: Final = 10_000
"""So many ended lives are remembered."""
_TOGETHER: Final = 0.1
"""Changes of this machine within so many seconds are told as one."""

Changed = Callable[[Node | None, Node | None], None]
Told = Callable[[], Awaitable[None]]


class Membership:
    """This machine's lease, and everybody else's.

    node        what this machine tells of itself, asked anew at every renewal; its boot is filled in here
    nodes       the machines that are there, by name, as far as NATS has told
    on_change   told of every machine that came (None before), changed, or left (None now)
    on_fenced   awaited when the lease cannot be counted on any longer; the next life begins after them
    on_late     called where half of that time has passed, and while there is no lease: another server may help
    on_regained awaited when there is a lease again, or for the first time after `open` did not get one
    """

    def __init__(
        self,
        js: JetStreamContext,
        node: Callable[[], Node],
        *,
        timing: Timing = TIMING,
        clock: Callable[[], float] = since_boot,
        previous_boot: str = "",
        keep_boot: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._js, self._timing, self._clock, self._late = js, timing, clock, -timing.ttl
        self._entries = Entries(js, NODES, timeout=max(_SOON, timing.renew / 2))
        self._lease = Lease(
            self._entries, node, timing=timing, clock=clock, previous=previous_boot, keep_boot=keep_boot
        )
        self.name = self._lease.name
        self.nodes: dict[str, Node] = {}
        self.on_change: list[Changed] = []
        self.on_fenced: list[Told] = []
        self.on_regained: list[Told] = []
        self.on_late: list[Callable[[], None]] = []
        self.refused = ""
        """Why this machine may not come back, in words."""
        self._dead: dict[tuple[str, str], None] = {}
        self._due, self._listed = asyncio.Event(), asyncio.Event()
        self._watcher: KeyValue.KeyWatcher | None = None
        self._seen, self._said = 0, ""
        self._tasks: list[asyncio.Task[None]] = []
        self._telling: asyncio.Task[None] | None = None

    @property
    def boot(self) -> str:
        """This life of this machine; "" where it had no lease yet."""
        return self._lease.boot

    @property
    def valid(self) -> bool:
        """Whether our lease certainly still holds, by our own clock."""
        return self._lease.left > 0

    async def open(self) -> bool:
        """Join. Out: whether we are in; where NATS is away it is tried on and on. ClusterRefused for a name in use."""
        try:
            await self._lease.take()
        except ClusterAway as error:
            log.warning("this machine is not in the cluster yet: %s", error)
        self._tasks = [
            asyncio.create_task(self._live(), name="handrail lease"),
            asyncio.create_task(self._watch(), name="handrail machines"),
        ]
        if self.valid:
            waiting = asyncio.create_task(self._listed.wait())
            await asyncio.wait([waiting], timeout=self._timing.fence_after)
            waiting.cancel()
        return self.valid

    async def close(self) -> None:
        """Leave, so that everybody sees it at once. Whatever runs here must have ended before."""
        await end_tasks([*self._tasks, self._telling])
        await self._stop_watching()
        try:
            await self._lease.give_back()
        except Exception as error:  # then the lease runs out by itself
            log.info("this machine left without a word: %s", error or type(error).__name__)

    def renew_soon(self) -> None:
        """What this machine tells of itself has changed: others should know before the next renewal is due."""
        self._due.set()

    async def present(self, name: str) -> Node | None:
        """A machine that has a lease, as whoever leads the bucket has it. ClusterAway."""
        return node_of((await self._entries.read(name)).value)

    async def alive(self, name: str, boot: str) -> bool:
        """Whether a life of a machine goes on. Where not, most servers agree, and it never will again. ClusterAway."""
        while (name, boot) not in self._dead:
            there = await self._entries.read(name)
            node = node_of(there.value)
            if node is not None and node.boot == boot:
                return True
            if await self._entries.confirm(name, there.revision, by=self.name):
                self._dead[name, boot] = None
                if len(self._dead) > _MOST_DEAD:
                    del self._dead[next(iter(self._dead))]
        return False

    async def _live(self) -> None:
        """One life after another."""
        while True:
            if self.valid:
                await self._hold()
                await self._end_life()
            await self._come_back()

    async def _hold(self) -> None:
        """Renew for as long as it is time."""
        pause = self._timing.renew
        while self.valid:
            regular = not await self._asked_for(min(pause, self._lease.left))
            before = self._lease.revision
            try:
                async with asyncio.timeout(self._lease.left):
                    await self._lease.renew()
            except Lapsed as why:
                log.error("this machine has lost its lease: %s", why)
                return
            except Exception as error:  # whatever it is: who cannot renew must be fenced, and in time
                self._say_once(error)
                pause = min(_AGAIN, self._timing.renew)
                if self._lease.left < self._timing.fence_after / 2:
                    self._is_late()
            else:
                pause = self._timing.renew
                if regular and self._seen < before:  # our own words did not come back to us: nobody's would
                    await self._stop_watching()

    async def _asked_for(self, pause: float) -> bool:
        """Wait until it is time to renew. Out: whether somebody wants it sooner; what comes at once with it is one."""
        try:
            async with asyncio.timeout(pause):
                await self._due.wait()
                await asyncio.sleep(_TOGETHER)
        except TimeoutError:
            return False
        finally:
            self._due.clear()
        return True

    async def _end_life(self) -> None:
        self._lease.end()
        await end_tasks([self._telling])
        log.error("this machine is fenced: it could not renew its lease in time")
        ending = asyncio.create_task(_tell(self.on_fenced))
        try:
            _, late = await asyncio.wait([ending], timeout=self._timing.ttl - self._timing.fence_after)
            if late:
                log.error("what ran on this machine did not end before its lease did")
            await ending
        finally:
            await end_tasks([ending])

    async def _come_back(self) -> None:
        while not self.valid:
            try:
                await self._lease.take()
            except ClusterRefused as error:
                if str(error) != self.refused:
                    log.error("this machine cannot come back into the cluster: %s", error)
                self.refused = str(error)
            except Exception as error:
                self._say_once(error)
                self._is_late()
            if not self.valid:
                await asyncio.sleep(_AGAIN)
        self.refused, self._seen = "", 0
        await self._stop_watching()  # so that it begins anew, with all that are there now
        log.warning("this machine is in the cluster, as %s, boot %s", self.name, self.boot)
        self._telling = asyncio.create_task(_tell(self.on_regained), name="handrail lease regained")

    def _is_late(self) -> None:
        """From time to time: each may need a while until it helps."""
        now = self._clock()
        if now - self._late >= self._timing.renew:
            self._late = now
            for tell in self.on_late:
                tell()

    def _say_once(self, error: Exception) -> None:
        """What keeps us from the others, where it is not just that NATS does not answer."""
        if not isinstance(error, ClusterAway | Error | OSError) and str(error) != self._said:
            self._said = str(error)
            log.error("this machine cannot keep its place in the cluster: %r", error)

    async def _watch(self) -> None:
        """Know who is there. Each time it begins with all of them."""
        while True:
            try:
                await self._watch_once()
            except Exception as error:  # it is tried again, for as long as it takes
                self._say_once(error)
            await asyncio.sleep(_AGAIN)

    async def _watch_once(self) -> None:
        bucket = await self._js.key_value(NODES)
        watcher = self._watcher = await bucket.watch("*")  # pyright: ignore[reportUnknownMemberType]
        listed: dict[str, Node] | None = {}
        async for entry in watcher:
            if entry is None:  # all that were there have been told
                for name in [name for name in self.nodes if listed is not None and name not in listed]:
                    self._note(name, None)
                listed = None
                self._listed.set()
                continue
            node = node_of(entry.value) if entry.operation is None else None
            if node is not None and node.name != entry.key:
                node = None
            if entry.key == self.name:
                self._seen = entry.revision or 0
            if listed is not None and node is not None:
                listed[entry.key] = node
            self._note(entry.key, node)

    async def _stop_watching(self) -> None:
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            try:
                await watcher.stop()
            except Error as error:
                log.debug("a watch that could not be ended: %s", error)

    def _note(self, name: str, node: Node | None) -> None:
        before = self.nodes.pop(name, None)
        if node is not None:
            self.nodes[name] = node
        if node != before:
            for tell in self.on_change:
                try:
                    tell(node, before)
                except Exception:
                    log.exception("a change of machine %s was not taken up as it should", name)


async def _tell(handlers: list[Told]) -> None:
    """All at once; one that fails does not keep the others."""
    results: list[Any] = await asyncio.gather(*(told() for told in list(handlers)), return_exceptions=True)
    for error in results:
        if isinstance(error, Exception):
            log.error("a change of the lease was not taken up as it should: %r", error)
