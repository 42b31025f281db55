"""The messages of a stream, in order and without a gap. In: a stream, a subject, where to begin. Out: one by one.

    async with Messages(js, stream, subject, after=place) as messages:
        async for message in messages: …

Whoever reads must notice when something is missing: a message that got lost on its way, a server that is gone. Then
ClusterAway is raised, and it is begun anew after the last that came.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from time import monotonic
from types import TracebackType
from typing import Final

from msgspec import Struct
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from handrail.bridge.cluster.failures import in_our_words
from handrail.bridge.errors import ClusterAway

__all__ = ["Message", "Messages", "connection_of"]

HEARTBEAT: Final = 1.0
"""Seconds: so often the server says that there is nothing new."""
_SILENCE: Final = 3 * HEARTBEAT
"""After so long without a word it is taken to be gone."""
_KEPT: Final = 5.0
"""Seconds that the server remembers a reader who is gone."""


class Message(Struct, frozen=True, gc=False):
    """One message. `place` is its number in the stream; `left`: so many come after it."""

    place: int
    subject: str
    data: bytes
    headers: dict[str, str]
    left: int


def connection_of(js: JetStreamContext) -> Client:
    """The connection that it speaks through."""
    return js._nc  # pyright: ignore[reportPrivateUsage]


class Messages:
    """A reader. `after` is a place; with `newest`, of each subject the last message alone is read, and what follows.

    `total` says how many messages there were when it was opened. With `patience`, so many seconds without a message
    are too many, though the server is there: whoever knows that there is one more asks somebody else.
    """

    def __init__(
        self,
        js: JetStreamContext,
        stream: str,
        subject: str,
        *,
        after: int = 0,
        newest: bool = False,
        patience: float | None = None,
    ) -> None:
        self._js, self._stream, self._subject = js, stream, subject
        self._after, self._newest, self._patience = after, newest, patience
        self._heard: asyncio.Queue[Msg] = asyncio.Queue()
        self._subscription: Subscription | None = None
        self._count = 0
        self.total = 0

    async def __aenter__(self) -> Messages:
        connection = connection_of(self._js)
        inbox = connection.new_inbox()
        config = ConsumerConfig(
            deliver_subject=inbox,
            deliver_policy=self._policy(),
            opt_start_seq=self._after + 1 if self._policy() == DeliverPolicy.BY_START_SEQUENCE else None,
            filter_subject=self._subject,
            ack_policy=AckPolicy.NONE,
            max_deliver=1,
            mem_storage=True,
            num_replicas=1,
            flow_control=True,
            idle_heartbeat=HEARTBEAT,
            inactive_threshold=_KEPT,
        )
        with in_our_words(self._stream):
            self._subscription = await connection.subscribe(  # pyright: ignore[reportUnknownMemberType]
                inbox, cb=self._heard.put, pending_msgs_limit=0, pending_bytes_limit=0
            )
            try:
                info = await self._js.add_consumer(self._stream, config)  # pyright: ignore[reportUnknownMemberType]
            except BaseException:
                await self._leave()
                raise
        # Some may be under way already.
        self.total = (info.num_pending or 0) + (info.delivered.consumer_seq if info.delivered else 0)
        return self

    def _policy(self) -> DeliverPolicy:
        if self._newest:
            return DeliverPolicy.LAST_PER_SUBJECT
        return DeliverPolicy.BY_START_SEQUENCE if self._after else DeliverPolicy.ALL

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._leave()

    async def _leave(self) -> None:
        if self._subscription is not None:
            with suppress(Error, OSError):
                await self._subscription.unsubscribe()

    async def __aiter__(self) -> AsyncIterator[Message]:
        since = monotonic()
        while True:
            heard = await self._next()
            if heard.headers and heard.headers.get("Status") == "100":
                await self._control(heard, heard.headers)
                if self._patience is not None and monotonic() - since > self._patience:
                    raise ClusterAway(f"{self._stream}: the server does not have all yet")
                continue
            with in_our_words(self._stream):
                facts, since = heard.metadata, monotonic()
            self._count += 1
            if facts.sequence.consumer != self._count:
                raise ClusterAway(f"{self._stream}: a message was lost on its way")
            yield Message(facts.sequence.stream, heard.subject, heard.data, heard.headers or {}, facts.num_pending)

    async def _next(self) -> Msg:
        if not self._heard.empty():
            return self._heard.get_nowait()
        try:
            async with asyncio.timeout(_SILENCE):
                return await self._heard.get()
        except TimeoutError:
            raise ClusterAway(f"{self._stream}: the server has fallen silent") from None

    async def _control(self, heard: Msg, headers: dict[str, str]) -> None:
        """The server waits for a sign that we keep up, or says up to where it has sent."""
        sent = headers.get("Nats-Last-Consumer")
        if sent is not None and int(sent) != self._count:
            raise ClusterAway(f"{self._stream}: a message was lost on its way")
        if reply := heard.reply or headers.get("Nats-Consumer-Stalled"):
            with in_our_words(self._stream):
                await connection_of(self._js).publish(reply)
