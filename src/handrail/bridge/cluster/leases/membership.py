"""Membership of the cluster: the lease of this machine, and the list of all machines with a lease.

A machine that could not renew its lease for `fence_after` seconds is fenced. It stops the sessions that others may
claim, and rejoins with a new boot once they have stopped and NATS responds again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from nats.errors import Error
from nats.js import JetStreamContext
from nats.js.kv import KeyValue

from handrail.bridge.cluster.configuration import Timing
from handrail.bridge.cluster.leases.entries import Entries
from handrail.bridge.cluster.leases.lease import Lease, LeaseExpired, Node, node_of
from handrail.bridge.cluster.nats.names import NODES
from handrail.bridge.errors import ClusterAway, ClusterRefused
from handrail.platform import seconds_since_boot

__all__ = ["Membership", "end_tasks"]

log = logging.getLogger("handrail.bridge")
TIMING: Final = Timing()
_RETRY: Final = 0.25
"""Seconds between attempts while NATS does not respond."""
_CANCEL_AGAIN: Final = 0.2
"""Seconds between two cancellations of the same task."""
_LEAST_TIMEOUT: Final = 0.5
"""Shortest timeout of a request, in seconds."""
_MOST_EXPIRED: Final = 10_000
"""Boots remembered as expired."""
_COALESCE: Final = 0.1
"""Seconds within which changes of this machine are published as one."""

Changed = Callable[[Node | None, Node | None], None]
Handler = Callable[[], Awaitable[None]]


class Membership:
    """The lease of this machine and the leases of all others.

    node        describes this machine; called for every renewal, its boot is filled in here
    nodes       machines with a lease by name, as last reported by NATS
    on_change   called with the new and the previous entry of a machine; None for one that left or joined
    on_fenced   awaited when the lease may no longer be relied on; the machine rejoins only after they return
    on_late     called when half of `fence_after` has passed without a renewal, and repeatedly while fenced: another
                NATS server may respond
    on_regained awaited after rejoining, and after the first join if `open` did not succeed
    refused     why this machine cannot rejoin; "" if nothing prevents it
    """

    def __init__(
        self,
        js: JetStreamContext,
        node: Callable[[], Node],
        *,
        timing: Timing = TIMING,
        clock: Callable[[], float] = seconds_since_boot,
        previous_boot: str = "",
        keep_boot: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._js, self._timing, self._clock, self._last_late = js, timing, clock, -timing.ttl
        self._entries = Entries(js, NODES, timeout=max(_LEAST_TIMEOUT, timing.renew / 2))
        self._lease = Lease(
            self._entries, node, timing=timing, clock=clock, previous=previous_boot, keep_boot=keep_boot
        )
        self.name = self._lease.name
        self.nodes: dict[str, Node] = {}
        self.on_change: list[Changed] = []
        self.on_fenced: list[Handler] = []
        self.on_regained: list[Handler] = []
        self.on_late: list[Callable[[], None]] = []
        self.refused = ""
        self._expired: dict[tuple[str, str], None] = {}
        self._renewal_requested, self._listed = asyncio.Event(), asyncio.Event()
        self._watcher: KeyValue.KeyWatcher | None = None
        self._seen_revision, self._logged = 0, ""
        self._tasks: list[asyncio.Task[None]] = []
        self._notifying: asyncio.Task[None] | None = None

    @property
    def boot(self) -> str:
        """Identifies the current or last lease of this machine; "" before the first."""
        return self._lease.boot

    @property
    def valid(self) -> bool:
        """Whether the lease may be relied on, by the clock of this machine."""
        return self._lease.left > 0

    async def open(self) -> bool:
        """Join, and return whether that succeeded; otherwise it is retried. Raises ClusterRefused for a name in use."""
        try:
            await self._lease.acquire()
        except ClusterAway as error:
            log.warning("this machine has not joined the cluster yet: %s", error)
        self._tasks = [
            asyncio.create_task(self._keep_lease(), name="handrail lease"),
            asyncio.create_task(self._watch(), name="handrail machines"),
        ]
        if self.valid:
            waiting = asyncio.create_task(self._listed.wait())
            await asyncio.wait([waiting], timeout=self._timing.fence_after)
            waiting.cancel()
        return self.valid

    async def close(self) -> None:
        """Leave the cluster; other machines notice at once. All sessions must have stopped before."""
        await end_tasks([*self._tasks, self._notifying])
        await self._stop_watching()
        try:
            await self._lease.release()
        except Exception as error:  # the lease expires by itself
            log.info("the lease was not returned and will expire: %s", str(error) or type(error).__name__)

    def renew_soon(self) -> None:
        """Publish a change of this machine before the next renewal is due."""
        self._renewal_requested.set()

    async def present(self, name: str) -> Node | None:
        """The entry of a machine if it has a lease, read from the leader of the bucket. Raises ClusterAway."""
        return node_of((await self._entries.read(name)).value)

    async def alive(self, name: str, boot: str) -> bool:
        """Whether a boot of a machine still has its lease. False is final and confirmed by a majority of the servers.

        Raises ClusterAway.
        """
        while (name, boot) not in self._expired:
            there = await self._entries.read(name)
            node = node_of(there.value)
            if node is not None and node.boot == boot:
                return True
            if await self._entries.confirm(name, there.revision, by=self.name):
                self._expired[name, boot] = None
                if len(self._expired) > _MOST_EXPIRED:
                    del self._expired[next(iter(self._expired))]
        return False

    async def _keep_lease(self) -> None:
        """Hold the lease; after losing it, fence this machine and rejoin."""
        while True:
            if self.valid:
                await self._hold()
                await self._fence()
            await self._rejoin()

    async def _hold(self) -> None:
        """Renew the lease until it is lost."""
        pause = self._timing.renew
        while self.valid:
            regular = not await self._requested_within(min(pause, self._lease.left))
            before = self._lease.revision
            try:
                async with asyncio.timeout(self._lease.left):
                    await self._lease.renew()
            except LeaseExpired as why:
                log.error("this machine lost its lease: %s", why)
                return
            except Exception as error:  # any failure to renew has to fence this machine in time
                self._log_once(error)
                pause = min(_RETRY, self._timing.renew)
                if self._lease.left < self._timing.fence_after / 2:
                    self._report_late()
            else:
                pause = self._timing.renew
                if regular and self._seen_revision < before:  # the watch did not deliver our own write: restart it
                    await self._stop_watching()

    async def _requested_within(self, pause: float) -> bool:
        """Wait for a requested renewal, at most `pause` seconds; return whether one was requested."""
        try:
            async with asyncio.timeout(pause):
                await self._renewal_requested.wait()
                await asyncio.sleep(_COALESCE)
        except TimeoutError:
            return False
        finally:
            self._renewal_requested.clear()
        return True

    async def _fence(self) -> None:
        self._lease.end()
        await end_tasks([self._notifying])
        log.error("this machine is fenced: it could not renew its lease in time")
        ending = asyncio.create_task(_notify(self.on_fenced))
        try:
            _, late = await asyncio.wait([ending], timeout=self._timing.ttl - self._timing.fence_after)
            if late:
                log.error("sessions of this machine were still running when its lease expired")
            await ending
        finally:
            await end_tasks([ending])

    async def _rejoin(self) -> None:
        while not self.valid:
            try:
                await self._lease.acquire()
            except ClusterRefused as error:
                if str(error) != self.refused:
                    log.error("this machine cannot rejoin the cluster: %s", error)
                self.refused = str(error)
            except Exception as error:
                self._log_once(error)
                self._report_late()
            if not self.valid:
                await asyncio.sleep(_RETRY)
        self.refused, self._seen_revision = "", 0
        await self._stop_watching()  # the next watch starts with a complete list
        log.warning("this machine joined the cluster as %s, boot %s", self.name, self.boot)
        self._notifying = asyncio.create_task(_notify(self.on_regained), name="handrail lease regained")

    def _report_late(self) -> None:
        """Call `on_late`, at most once per renewal interval: switching to another server takes a while."""
        now = self._clock()
        if now - self._last_late >= self._timing.renew:
            self._last_late = now
            for notify in self.on_late:
                notify()

    def _log_once(self, error: Exception) -> None:
        """Log an unexpected error once. Outages of NATS are expected."""
        if not isinstance(error, ClusterAway | Error | OSError) and str(error) != self._logged:
            self._logged = str(error)
            log.error("renewal of the lease failed: %r", error)

    async def _watch(self) -> None:
        """Watch the nodes bucket. Every watch starts with all entries."""
        while True:
            try:
                await self._watch_once()
            except Exception as error:  # retried until this machine leaves
                self._log_once(error)
            await asyncio.sleep(_RETRY)

    async def _watch_once(self) -> None:
        bucket = await self._js.key_value(NODES)
        watcher = self._watcher = await bucket.watch("*")  # pyright: ignore[reportUnknownMemberType]
        listed: dict[str, Node] | None = {}
        async for entry in watcher:
            if entry is None:  # end of the initial entries
                for name in [name for name in self.nodes if listed is not None and name not in listed]:
                    self._note(name, None)
                listed = None
                self._listed.set()
                continue
            node = node_of(entry.value) if entry.operation is None else None
            if node is not None and node.name != entry.key:
                node = None
            if entry.key == self.name:
                self._seen_revision = entry.revision or 0
            if listed is not None and node is not None:
                listed[entry.key] = node
            self._note(entry.key, node)

    async def _stop_watching(self) -> None:
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            try:
                await watcher.stop()
            except Error as error:
                log.debug("unsubscribing a watch failed: %s", error)

    def _note(self, name: str, node: Node | None) -> None:
        before = self.nodes.pop(name, None)
        if node is not None:
            self.nodes[name] = node
        if node != before:
            for notify in self.on_change:
                try:
                    notify(node, before)
                except Exception:
                    log.exception("a handler of machine changes failed (machine %s)", name)


async def _notify(handlers: list[Handler]) -> None:
    """Run all handlers concurrently; a failing one does not stop the others."""
    results: list[Any] = await asyncio.gather(*(handler() for handler in list(handlers)), return_exceptions=True)
    for error in results:
        if isinstance(error, Exception):
            log.error("a handler of lease changes failed: %r", error)


async def end_tasks(tasks: Iterable[asyncio.Task[Any] | None]) -> None:
    """Cancel tasks that wait for NATS until all are done.

    Their exceptions are left in them; None and finished tasks are ignored. One cancellation is not always enough:
    nats-py waits with `asyncio.wait_for`, and in Python 3.11 that returns the answer and swallows the cancellation if
    both arrive in the same iteration of the event loop.
    """
    left = {task for task in tasks if task is not None and not task.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_CANCEL_AGAIN)
