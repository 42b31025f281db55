"""Tells other machines what happens in a session. In: requests to follow it. Out: what its feed tells, on NATS.

It is a follower of the feed like any client, and only as long as somebody asks again: a session that nobody watches
from elsewhere costs nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Awaitable
from itertools import accumulate
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import msgspec
from nats.errors import Error as NatsError

from handrail.bridge.cluster.following.live import Answer, Ask, Live, Page, encode, read_ask
from handrail.bridge.cluster.nats.names import follow_subject, live_subject
from handrail.bridge.errors import BridgeError
from handrail.bridge.session.events import LARGEST
from handrail.bridge.session.feed import CutOff, Follower

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

    from handrail.bridge.session.host import SessionHost

__all__ = ["Relay"]

log = logging.getLogger("handrail.bridge")
LASTING: Final = 45.0
"""Seconds for which one request is good."""
MOST_BYTES: Final = 256 * 1024
"""Of one live message; a single item may be larger."""
MOST_SO_FAR: Final = 4 * 1024 * 1024
MOST_WAITING: Final = 1024 * 1024
"""So many bytes may wait for NATS to take them; then the rest waits in the feed."""
PAUSE: Final = 0.25


class Relay:
    """One session's way to other machines."""

    def __init__(self, nats: Client, host: SessionHost, *, lasting: float = LASTING) -> None:
        self._nats, self._host, self._lasting = nats, host, lasting
        self._live = live_subject(host.record.id)
        self._life, self._count = "", 0
        self._follower: Follower | None = None
        self._outgoing: deque[tuple[str, bytes]] = deque()
        self._more = asyncio.Event()
        self._lapse: asyncio.TimerHandle | None = None
        self._wanted = False
        self._asking: Subscription | None = None
        self._telling: asyncio.Task[None] | None = None
        self.quiet = asyncio.Event()
        """Set while nobody elsewhere follows."""
        self.quiet.set()

    async def open(self) -> None:
        """Answer whoever asks."""
        self._asking = await self._nats.subscribe(follow_subject(self._host.record.id), cb=self._asked)  # pyright: ignore[reportUnknownMemberType]
        await self.announce()

    async def announce(self) -> None:
        """Who follows the session already hears that there is somebody to ask, now or again."""
        await _quietly(self._nats.publish(self._live, encode(Live(uuid4().hex, 0))))

    async def close(self) -> None:
        """Answer nobody any more. Who follows is told, so that he looks for another who does."""
        if self._asking is not None:
            await _quietly(self._asking.unsubscribe())
        self._lapsed()  # a flush that ends as it is cancelled knows nothing of being cancelled
        if self._telling is not None:
            self._telling.cancel()
            await asyncio.wait([self._telling])
            await _quietly(self._nats.publish(self._live, encode(Live("", 0))))

    # Asked

    async def _asked(self, message: Msg) -> None:
        try:
            ask = read_ask(message.data)
        except msgspec.MsgspecError:
            return log.warning("a request to follow %s cannot be read", self._host.record.id)
        if ask.after < 0:
            return self._answer(message.reply, ask)
        return await _quietly(self._nats.publish(message.reply, encode(await self._page(ask))))

    def _answer(self, reply: str, ask: Ask) -> None:
        """Say where we are, all of it at one moment: so nothing is waited for in between."""
        if self._telling is None or self._telling.done():
            self._begin()
            self._telling = asyncio.create_task(self._tell(), name="handrail relay")
        self._want()
        self._collect()
        there = (ask.life, ask.count) == (self._life, self._count)
        so_far = () if there else _fitting(self._host.partial.so_far(), min(MOST_SO_FAR, self._nats.max_payload // 2))
        self._outgoing.append((reply, encode(Answer(self._life, self._count, self._host.seq, so_far))))
        self._more.set()

    async def _page(self, ask: Ask) -> Page:
        """Events from this machine's own store. They may not be anywhere else yet."""
        try:
            found = await self._host.read(ask.after, most_bytes=min(max(ask.most_bytes, 1), MOST_WAITING))
        except BridgeError as error:
            return Page(problem=str(error))
        page = Page(tuple(found))
        if len(encode(page)) > self._nats.max_payload:
            return Page(problem=f"event {found[0].seq} is larger than what NATS carries")
        return page

    def _want(self) -> None:
        """Somebody follows from now on for a while."""
        if self._lapse is not None:
            self._lapse.cancel()
        self._wanted = True
        self.quiet.clear()
        self._lapse = asyncio.get_running_loop().call_later(self._lasting, self._lapsed)

    def _lapsed(self) -> None:
        self._wanted = False
        self._more.set()

    # Telling

    def _begin(self) -> None:
        """A new life. Whoever followed one that was broken off has missed something, and is told so."""
        if self._follower is not None:
            self._follower.close()
        self._follower = self._host.feed.follow()
        self._follower.on_wake = self._more
        broken, self._life, self._count = self._life, uuid4().hex, 0
        if broken:
            self._outgoing.append((self._live, encode(Live(self._life, 0))))

    def _collect(self) -> None:
        """Give all that the feed has for us its number."""
        while (follower := self._follower) is not None and follower.pending:
            try:
                items = follower.take(MOST_BYTES)
            except CutOff:
                self._begin()
                continue
            self._count += 1
            self._outgoing.append((self._live, encode(Live(self._life, self._count, items))))

    async def _tell(self) -> None:
        try:
            while self._wanted:
                self._more.clear()
                self._collect()
                if not await self._send():
                    self._outgoing.clear()
                    await asyncio.sleep(PAUSE)
                    self._begin()
                elif self._follower is None or not self._follower.pending:
                    await self._more.wait()
        finally:
            if self._follower is not None:
                self._follower.close()
            if self._lapse is not None:
                self._lapse.cancel()
            self._follower, self._wanted, self._life = None, False, ""
            self._outgoing.clear()
            self.quiet.set()

    async def _send(self) -> bool:
        """Out: whether NATS has taken all."""
        try:
            while self._outgoing:
                await self._nats.publish(*self._outgoing.popleft())
                if self._nats.pending_data_size > MOST_WAITING:
                    await self._nats.flush()
        except (NatsError, OSError) as error:
            log.info("what happens in session %s cannot be told elsewhere: %s", self._host.record.id, error)
            return False
        return True


def _fitting(lines: list[bytes], most: int) -> tuple[bytes, ...]:
    """As many of the first ones as fit, of those that a frame can hold."""
    told = [line for line in lines if len(line) <= LARGEST]
    return tuple(line for line, end in zip(told, accumulate(map(len, told)), strict=True) if end <= most)


async def _quietly(work: Awaitable[None]) -> None:
    """NATS may be away: then there is nobody to tell."""
    with contextlib.suppress(NatsError, OSError):
        await work
