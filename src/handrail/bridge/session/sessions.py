"""The sessions of this machine: their hosts, created when a session is first asked for."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, Final

import msgspec

from handrail.bridge.errors import BridgeError, ClusterAway, CommandRefused
from handrail.bridge.session.events import event
from handrail.bridge.session.feed import Feed
from handrail.bridge.session.host import SessionHost
from handrail.bridge.session.launcher import Launcher
from handrail.bridge.session.prewarmed import PrewarmedProcesses
from handrail.bridge.session.recorder import Changed
from handrail.bridge.store.base import AT_REST, EventLog, Ownership, SessionIndex, SessionRecord, SessionWriter

__all__ = ["SILENT_AFTER", "Sessions"]

log = logging.getLogger("handrail.bridge")
SWEEP_EVERY: Final = 5.0
SILENT_AFTER: Final = 120.0
"""Seconds without output during a turn after which followers are notified. Nothing is ended: a tool may take long."""
CLOSED_AT_ONCE: Final = 16
DELETED_AT_ONCE: Final = 2000
"""Events deleted in one transaction, so that other writers never wait long."""


async def _ignore(_: object) -> None:
    return


class Sessions:
    """Hosts by session id.

    prewarmed   processes that wait for a session
    writer      writes events and records together
    own         the index of the sessions whose events are stored on this machine
    list_feed   the feed of the session list: each changed record, each deleted id
    on_change   called for each record that changes, of any machine
    on_result   called for each result of a turn
    on_taken    awaited when a session runs here from now on, before anyone can use it
    on_left     awaited when a session no longer runs here, before another machine can claim it
    on_deleted  awaited when a session was deleted here
    """

    def __init__(
        self,
        events: EventLog,
        index: SessionIndex,
        ownership: Ownership,
        launcher: Launcher,
        *,
        writer: SessionWriter,
        own: SessionIndex | None = None,
        hibernate_after: float = 900.0,
        prewarm: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.events, self.index, self.ownership = events, index, ownership
        self.prewarmed = PrewarmedProcesses(prewarm, launcher.waiting_process, idle_after=hibernate_after, clock=clock)
        self._launcher, self.writer = launcher, writer
        self.own = index if own is None else own
        self.list_feed = Feed()
        self.on_change: list[Changed] = []
        self.on_result: list[Callable[[SessionHost, bytes], None]] = []
        self.on_taken: Callable[[SessionHost], Awaitable[None]] = _ignore
        self.on_left: Callable[[str], Awaitable[None]] = _ignore
        self.on_deleted: Callable[[str], Awaitable[None]] = _ignore
        self._hibernate_after, self._clock = hibernate_after, clock
        self._reported_silent: dict[str, float] = {}
        """Sessions already reported as silent, with the time of their last output."""
        self._hosts: dict[str, SessionHost] = {}
        self._making: dict[str, asyncio.Task[SessionHost]] = {}
        self._releasing: dict[str, asyncio.Task[None]] = {}
        self._deleting: set[str] = set()
        self._closed = False
        self._sweeping: asyncio.Task[None] | None = None

    # Hosts

    async def open(self) -> None:
        """Recover the sessions that were active when the server last ended, then sweep regularly."""
        await self.recover_active()
        self.prewarmed.refill()
        self._sweeping = asyncio.create_task(self._sweep_regularly(), name="handrail hibernation")

    async def recover_active(self) -> None:
        """Recover the sessions that were active. One that another machine owns, or may own, is left to it."""
        records = await self.own.list(limit=100_000)
        active = [record.id for record in records if record.state not in AT_REST]
        # Concurrently: the store writes what they record in few transactions.
        for found in await asyncio.gather(*map(self.get, active), return_exceptions=True):
            if isinstance(found, CommandRefused | ClusterAway):
                log.info("a session was not recovered: %s", found)
            elif isinstance(found, BaseException):
                raise found

    async def add(self, record: SessionRecord) -> SessionHost:
        """Store a new session and return its host."""
        if await self.index.get(record.id) is not None:
            raise CommandRefused("exists", f"session {record.id} exists already")
        await self.index.put(record)
        return await self.get(record.id)

    async def get(self, id: str) -> SessionHost:
        """The host of a session. CommandRefused if it does not exist, or another machine owns it."""
        if self._closed:
            raise CommandRefused("closing", "the server is shutting down")
        if id in self._deleting:
            raise _not_found(id)
        if (host := self._hosts.get(id)) is not None:
            host.touched = self._clock()
            return host
        making = self._making.get(id)
        if making is None:
            making = self._making[id] = asyncio.create_task(self._make(id))
            making.add_done_callback(lambda _: self._making.pop(id, None))
        return await asyncio.shield(making)

    async def _make(self, id: str) -> SessionHost:
        if (releasing := self._releasing.get(id)) is not None:  # otherwise it would be released after we claimed it
            await asyncio.wait([releasing])
        if await self.index.get(id) is None:
            raise _not_found(id)
        if not await self.ownership.claim(id):
            raise CommandRefused("elsewhere", f"session {id} runs on {await self.ownership.owner(id)}")
        try:
            self._hosts[id] = host = await self._recover(id)
        except BaseException:
            await self.ownership.release(id)
            raise
        return host

    async def _recover(self, id: str) -> SessionHost:
        """Load a session that this machine owns. The record is read again: its last owner may have changed it."""
        record = await self.index.get(id)
        if record is None:
            raise _not_found(id)
        host = SessionHost(
            record,
            log=self.events,
            writer=self.writer,
            launcher=self._launcher,
            on_change=self.report_change,
            on_result=self._report_result,
            clock=self._clock,
            prewarmed=self.prewarmed,
        )
        await host.recover()
        await self.on_taken(host)
        return host

    @property
    def ids(self) -> list[str]:
        """The sessions that this machine hosts, with or without a process."""
        return list(self._hosts)

    def here(self, id: str) -> SessionHost | None:
        """The host of a session, if it is loaded here."""
        return self._hosts.get(id)

    @property
    def running(self) -> list[SessionHost]:
        """The hosts with a process."""
        return [host for host in self._hosts.values() if host.running]

    # Notifications

    def report_change(self, record: SessionRecord, before: SessionRecord) -> None:
        """Report a changed record, of this machine or of another one, to the list feed and to `on_change`."""
        self.list_feed.publish([msgspec.json.encode({"session": record.line()})])
        for report in self.on_change:
            report(record, before)

    def deleted(self, id: str) -> None:
        """Report a deleted session to the list feed."""
        self.list_feed.publish([b'{"deleted":"%s"}' % id.encode()])

    def _report_result(self, host: SessionHost, raw: bytes) -> None:
        for report in self.on_result:
            report(host, raw)

    # Ends

    async def delete(self, id: str) -> None:
        """End a session and delete its events and its record."""
        host = await self.get(id)
        self._deleting.add(id)
        try:
            await host.close()
            del self._hosts[id]
            bounds = await self.events.bounds(id)
            for through in range(bounds.first + DELETED_AT_ONCE, bounds.last, DELETED_AT_ONCE):
                await self.events.forget(id, through=through)
            await self.events.forget(id)
            await self.index.delete(id)
            await self.on_deleted(id)
            await self._release(id, gone=True)
        finally:
            self._deleting.discard(id)
        host.feed.cut("the session was deleted")
        self.deleted(id)

    async def _release(self, id: str, *, gone: bool = False) -> None:
        await self.on_left(id)
        await self.ownership.release(id, gone=gone)

    async def abandon(self, id: str, why: str) -> None:
        """Another machine owns the session, or may soon: end its process at once and write nothing more."""
        if (host := self._hosts.pop(id, None)) is not None:
            await host.abandon(why)
            await self.on_left(id)

    async def abandon_all(self, why: str) -> None:
        """Abandon every session of this machine."""
        await asyncio.gather(*(self.abandon(id, why) for id in self.ids))

    async def close(self) -> None:
        """End all processes; their sessions resume when they are next used."""
        self._closed = True
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.wait([self._sweeping])
        await self.prewarmed.close()
        if self._making:
            await asyncio.wait(self._making.values())
        limit = asyncio.Semaphore(CLOSED_AT_ONCE)

        async def end(host: SessionHost) -> None:
            async with limit:
                await host.close()
                await self._release(host.record.id)

        results: list[Any] = await asyncio.gather(*map(end, self._hosts.values()), return_exceptions=True)
        for error in results:
            if isinstance(error, Exception):
                log.error("a session did not close cleanly: %s", error)

    # Sweeping

    async def _sweep_regularly(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_EVERY)
            try:
                await self.sweep()
            except Exception:  # the next sweep may succeed; without sweeps no idle process would ever be ended
                log.exception("a sweep of the sessions failed")

    async def sweep(self) -> None:
        """Report silent CLIs, end idle and unneeded processes, and unload hosts that are not in use."""
        await self.prewarmed.sweep()
        for host in self._newly_silent(self.running):
            try:
                await host.record_events([event("silent", seconds=SILENT_AFTER)])
            except BridgeError as error:
                log.error("session %s is silent, but that could not be recorded: %s", host.record.id, error)

        def is_idle(host: SessionHost) -> bool:
            return host.may_hibernate(self._hibernate_after)

        idle = [host.stop(only_if=partial(is_idle, host)) for host in self.running if is_idle(host)]
        for error in await asyncio.gather(*idle, return_exceptions=True):
            if isinstance(error, Exception):
                log.error("an idle process did not end cleanly: %s", error)
        for id in [id for id, host in self._hosts.items() if host.is_forgettable()]:
            del self._hosts[id]
            self._releasing[id] = asyncio.create_task(self._release(id))
        if self._releasing:
            await asyncio.wait(self._releasing.values())
            for id, task in self._releasing.items():
                if not task.cancelled() and (error := task.exception()) is not None:
                    log.error("session %s was not released: %s", id, error)
            self._releasing.clear()

    def _newly_silent(self, hosts: Iterable[SessionHost]) -> list[SessionHost]:
        """The hosts that have been silent for too long during a turn, each reported once per silence."""
        now = self._clock()
        working = [host for host in hosts if host.state() in ("running", "compacting")]
        silent = [host for host in working if now - host.used >= SILENT_AFTER]
        new = [host for host in silent if self._reported_silent.get(host.record.id) != host.used]
        self._reported_silent = {host.record.id: host.used for host in silent}
        return new


def _not_found(id: str) -> CommandRefused:
    return CommandRefused("not_found", f"session {id} not found")
