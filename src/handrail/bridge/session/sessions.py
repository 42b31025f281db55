"""The sessions that run here. In: ids. Out: their hosts, made when somebody first asks for them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from handrail.bridge.errors import BridgeError, ClusterAway, CommandRefused
from handrail.bridge.session.events import event
from handrail.bridge.session.feed import Feed
from handrail.bridge.session.host import SessionHost
from handrail.bridge.session.kept_session import Changed
from handrail.bridge.session.launch import Launcher
from handrail.bridge.session.session_lines import session_item
from handrail.bridge.session.silence import SILENT_AFTER, Silence
from handrail.bridge.store.events_base import EventLog
from handrail.bridge.store.index_base import SessionIndex, SessionRecord
from handrail.bridge.store.ownership_base import Ownership

__all__ = ["AT_REST", "Sessions"]

log = logging.getLogger("handrail.bridge")
SWEEP: Final = 5.0
ENDING_AT_ONCE: Final = 16
FORGOTTEN_AT_ONCE: Final = 2000
"""So many events are deleted in one step, so that whoever writes meanwhile waits for no more than that."""
AT_REST: Final = frozenset({"hibernated", "failed"})


async def _nothing(_: object) -> None:
    return


class Sessions:
    """Hosts by id. `list_feed` tells of every record that changes."""

    def __init__(
        self,
        events: EventLog,
        index: SessionIndex,
        ownership: Ownership,
        launcher: Launcher,
        *,
        own: SessionIndex | None = None,
        hibernate_after: float = 900.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.events, self.index, self.ownership, self._launcher = events, index, ownership, launcher
        self.own = index if own is None else own
        """The sessions whose events lie here: all of them, where there is one machine."""
        self.list_feed = Feed()
        self.on_change: list[Changed] = []
        """Are told of every record that changes."""
        self.on_result: list[Callable[[SessionHost, bytes], None]] = []
        """Are told of every result of a turn, as the CLI wrote it."""
        self.on_taken: Callable[[SessionHost], Awaitable[None]] = _nothing
        """Is told of every session that runs here from now on, before anybody can use it."""
        self.on_left: Callable[[str], Awaitable[None]] = _nothing
        """Is told of every session that runs here no more, before anybody else can have it."""
        self.on_deleted: Callable[[str], Awaitable[None]] = _nothing
        """Is told of every session that is deleted here."""
        self._hibernate_after, self._clock = hibernate_after, clock
        self._silence = Silence(clock)
        self._hosts: dict[str, SessionHost] = {}
        self._making: dict[str, asyncio.Task[SessionHost]] = {}
        self._releasing: dict[str, asyncio.Task[None]] = {}
        self._deleting: set[str] = set()
        self._closed = False
        self._sweeping: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Begin, with the sessions that were under way when the server last ended, however it did."""
        await self.take_up()
        self._sweeping = asyncio.create_task(self._sweep(), name="handrail hibernation")

    async def take_up(self) -> None:
        """Take up those that were under way. One that another machine has, or may have, is left to it."""
        records = await self.own.list(limit=100_000)
        under_way = [record.id for record in records if record.state not in AT_REST]
        # Together: so many share what it costs to write it down.
        for found in await asyncio.gather(*map(self.get, under_way), return_exceptions=True):
            if isinstance(found, CommandRefused | ClusterAway):
                log.info("a session was not taken up: %s", found)
            elif isinstance(found, BaseException):
                raise found

    async def add(self, record: SessionRecord) -> SessionHost:
        """A session that is new."""
        if await self.index.get(record.id) is not None:
            raise CommandRefused("exists", f"there is a session {record.id} already")
        await self.index.put(record)
        return await self.get(record.id)

    async def get(self, id: str) -> SessionHost:
        """The host of a session. CommandRefused where there is no such session."""
        if self._closed:
            raise CommandRefused("closing", "the server is being stopped")
        if id in self._deleting:
            raise CommandRefused("not_found", f"there is no session {id}")
        if (host := self._hosts.get(id)) is not None:
            host.touched = self._clock()
            return host
        making = self._making.get(id)
        if making is None:
            making = self._making[id] = asyncio.create_task(self._make(id))
            making.add_done_callback(lambda _: self._making.pop(id, None))
        return await asyncio.shield(making)

    async def _make(self, id: str) -> SessionHost:
        if (releasing := self._releasing.get(id)) is not None:  # else it would be given away under our hands
            await asyncio.wait([releasing])
        if await self.index.get(id) is None:
            raise CommandRefused("not_found", f"there is no session {id}")
        if not await self.ownership.claim(id):
            raise CommandRefused("elsewhere", f"session {id} runs on {await self.ownership.owner(id)}")
        try:
            self._hosts[id] = host = await self._recovered(id)
        except BaseException:
            await self.ownership.release(id)
            raise
        return host

    async def _recovered(self, id: str) -> SessionHost:
        """The host of a session that is ours now. Its record is looked at anew: whoever had it may have changed it."""
        record = await self.index.get(id)
        if record is None:
            raise CommandRefused("not_found", f"there is no session {id}")
        host = SessionHost(
            record,
            events=self.events,
            index=self.index,
            launcher=self._launcher,
            on_change=self.told,
            clock=self._clock,
        )
        host.on_result = partial(self._told_result, host)
        await host.recover()
        await self.on_taken(host)
        return host

    def told(self, record: SessionRecord, before: SessionRecord) -> None:
        """A record is another, of a session here or elsewhere: whoever looks at the list is told."""
        self.list_feed.publish([session_item(record)])
        for tell in self.on_change:
            tell(record, before)

    def _told_result(self, host: SessionHost, raw: bytes) -> None:
        for tell in self.on_result:
            tell(host, raw)

    async def delete(self, id: str) -> None:
        """End a session and forget all about it."""
        host = await self.get(id)
        self._deleting.add(id)
        try:
            await host.close()
            del self._hosts[id]
            bounds = await self.events.bounds(id)
            for through in range(bounds.first + FORGOTTEN_AT_ONCE, bounds.last, FORGOTTEN_AT_ONCE):
                await self.events.forget(id, through=through)
            await self.events.forget(id)
            await self.index.delete(id)
            await self.on_deleted(id)
            await self._let_go(id, gone=True)
        finally:
            self._deleting.discard(id)
        host.feed.cut("the session was deleted")
        self.list_feed.publish([b'{"deleted":"%s"}' % id.encode()])

    async def _let_go(self, id: str, *, gone: bool = False) -> None:
        await self.on_left(id)
        await self.ownership.release(id, gone=gone)

    async def abandon(self, id: str, why: str) -> None:
        """Somebody else has it, or may have it soon: its process goes at once, and nothing more is written."""
        if (host := self._hosts.pop(id, None)) is not None:
            await host.abandon(why)
            await self.on_left(id)

    async def abandon_all(self, why: str) -> None:
        """The same for every session that runs here."""
        await asyncio.gather(*(self.abandon(id, why) for id in self.ids))

    @property
    def ids(self) -> list[str]:
        """The sessions that are looked after here, with a process or without."""
        return list(self._hosts)

    def here(self, id: str) -> SessionHost | None:
        """The host of a session, where it runs here now."""
        return self._hosts.get(id)

    @property
    def running(self) -> list[SessionHost]:
        """Those with a process."""
        return [host for host in self._hosts.values() if host.running]

    async def _sweep(self) -> None:
        """Tell of silent CLIs, end processes that nobody needs now, and forget hosts that nobody looks at."""
        while True:
            await asyncio.sleep(SWEEP)
            await self.sweep()

    async def sweep(self) -> None:
        """Once."""
        for host in self._silence.noticed(self.running):
            try:
                await host.record_events([event("silent", seconds=SILENT_AFTER)])
            except BridgeError as error:
                log.error("nobody could be told that session %s is silent: %s", host.record.id, error)

        def is_idle(host: SessionHost) -> bool:
            return host.may_hibernate(self._hibernate_after)

        idle = [host.stop(only_if=partial(is_idle, host)) for host in self.running if is_idle(host)]
        for error in await asyncio.gather(*idle, return_exceptions=True):
            if isinstance(error, Exception):
                log.error("a session did not go to sleep as it should: %s", error)
        for id in [id for id, host in self._hosts.items() if host.is_forgettable()]:
            del self._hosts[id]
            self._releasing[id] = asyncio.create_task(self._let_go(id))
        if self._releasing:
            await asyncio.wait(self._releasing.values())
            self._releasing.clear()

    async def close(self) -> None:
        """End all processes; what they were doing goes on when they are next asked."""
        self._closed = True
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.wait([self._sweeping])
        if self._making:
            await asyncio.wait(self._making.values())
        limit = asyncio.Semaphore(ENDING_AT_ONCE)

        async def end(host: SessionHost) -> None:
            async with limit:
                await host.close()
                await self._let_go(host.record.id)

        results: list[Any] = await asyncio.gather(*map(end, self._hosts.values()), return_exceptions=True)
        for error in results:
            if isinstance(error, Exception):
                log.error("a session did not end as it should: %s", error)
