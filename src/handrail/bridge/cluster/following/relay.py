"""Publishes the feed of a session to other machines over NATS.

The relay follows the feed like any client, and only while other machines renew their requests: a session without remote
followers costs nothing.
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
VALID_SECONDS: Final = 45.0
"""Seconds for which a request is valid."""
MOST_BYTES: Final = 256 * 1024
"""Bytes of one live message; a single item may be larger."""
MOST_SO_FAR: Final = 4 * 1024 * 1024
MOST_WAITING: Final = 1024 * 1024
"""Bytes in the send buffer of NATS; above this the rest stays in the feed."""
PAUSE: Final = 0.25


class Relay:
    """The relay of one session."""

    def __init__(self, nats: Client, host: SessionHost, *, valid_for: float = VALID_SECONDS) -> None:
        self._nats, self._host, self._valid_for = nats, host, valid_for
        self._live = live_subject(host.record.id)
        self._life, self._count = "", 0
        self._follower: Follower | None = None
        self._outgoing: deque[tuple[str, bytes]] = deque()
        self._more = asyncio.Event()
        self._expiry: asyncio.TimerHandle | None = None
        self._wanted = False
        self._requests: Subscription | None = None
        self._publishing: asyncio.Task[None] | None = None
        self.quiet = asyncio.Event()
        """Set while no other machine follows."""
        self.quiet.set()

    async def open(self) -> None:
        """Start answering requests."""
        self._requests = await self._nats.subscribe(follow_subject(self._host.record.id), cb=self._on_request)  # pyright: ignore[reportUnknownMemberType]
        await self.announce()

    async def announce(self) -> None:
        """Tell existing followers to send their requests again."""
        await _quietly(self._nats.publish(self._live, encode(Live(uuid4().hex, 0))))

    async def close(self) -> None:
        """Stop answering. Followers are notified, so that they look for the new owner."""
        if self._requests is not None:
            await _quietly(self._requests.unsubscribe())
        self._expired()  # a flush that completes while it is cancelled swallows the cancellation
        if self._publishing is not None:
            self._publishing.cancel()
            await asyncio.wait([self._publishing])
            await _quietly(self._nats.publish(self._live, encode(Live("", 0))))

    # Requests

    async def _on_request(self, message: Msg) -> None:
        try:
            ask = read_ask(message.data)
        except msgspec.MsgspecError:
            return log.warning("malformed request to follow session %s", self._host.record.id)
        if ask.after < 0:
            return self._answer(message.reply, ask)
        return await _quietly(self._nats.publish(message.reply, encode(await self._page(ask))))

    def _answer(self, reply: str, ask: Ask) -> None:
        """Answer with our position. No await in between, so all fields are of the same moment."""
        if self._publishing is None or self._publishing.done():
            self._begin()
            self._publishing = asyncio.create_task(self._publish(), name="handrail relay")
        self._extend()
        self._collect()
        there = (ask.life, ask.count) == (self._life, self._count)
        so_far = () if there else _truncate(self._host.partial.so_far(), min(MOST_SO_FAR, self._nats.max_payload // 2))
        self._outgoing.append((reply, encode(Answer(self._life, self._count, self._host.seq, so_far))))
        self._more.set()

    async def _page(self, ask: Ask) -> Page:
        """Events from the local store, which may not be published yet."""
        try:
            found = await self._host.read(ask.after, most_bytes=min(max(ask.most_bytes, 1), MOST_WAITING))
        except BridgeError as error:
            return Page(problem=str(error))
        page = Page(tuple(found))
        if len(encode(page)) > self._nats.max_payload:
            return Page(problem=f"event {found[0].seq} exceeds the payload limit of NATS")
        return page

    def _extend(self) -> None:
        """Extend the request of the followers."""
        if self._expiry is not None:
            self._expiry.cancel()
        self._wanted = True
        self.quiet.clear()
        self._expiry = asyncio.get_running_loop().call_later(self._valid_for, self._expired)

    def _expired(self) -> None:
        self._wanted = False
        self._more.set()

    # Publishing

    def _begin(self) -> None:
        """Start a new life. Followers of a broken one have missed something and are notified."""
        if self._follower is not None:
            self._follower.close()
        self._follower = self._host.feed.follow()
        self._follower.on_wake = self._more
        broken, self._life, self._count = self._life, uuid4().hex, 0
        if broken:
            self._outgoing.append((self._live, encode(Live(self._life, 0))))

    def _collect(self) -> None:
        """Number everything that the feed has for us."""
        while (follower := self._follower) is not None and follower.pending:
            try:
                items = follower.take(MOST_BYTES)
            except CutOff:
                self._begin()
                continue
            self._count += 1
            self._outgoing.append((self._live, encode(Live(self._life, self._count, items))))

    async def _publish(self) -> None:
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
            if self._expiry is not None:
                self._expiry.cancel()
            self._follower, self._wanted, self._life = None, False, ""
            self._outgoing.clear()
            self.quiet.set()

    async def _send(self) -> bool:
        """Returns whether NATS accepted everything."""
        try:
            while self._outgoing:
                await self._nats.publish(*self._outgoing.popleft())
                if self._nats.pending_data_size > MOST_WAITING:
                    await self._nats.flush()
        except (NatsError, OSError) as error:
            log.info("cannot publish session %s: %s", self._host.record.id, error)
            return False
        return True


def _truncate(lines: list[bytes], most: int) -> tuple[bytes, ...]:
    """The leading lines that fit, without those too large for a frame."""
    small = [line for line in lines if len(line) <= LARGEST]
    return tuple(line for line, end in zip(small, accumulate(map(len, small)), strict=True) if end <= most)


async def _quietly(work: Awaitable[None]) -> None:
    """Ignore errors of NATS: without it followers cannot be notified."""
    with contextlib.suppress(NatsError, OSError):
        await work
