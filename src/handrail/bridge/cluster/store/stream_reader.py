"""An ordered JetStream reader that notices every gap.

    async with StreamReader(js, stream, subject, after=place) as reader:
        async for message in reader: …

It is an ephemeral push consumer without acknowledgements. A message lost between server and client, or a server that
stops sending heartbeats, raises ClusterAway; the caller then opens a new reader after the last message it received.
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

from handrail.bridge.cluster.nats.failures import translate_errors
from handrail.bridge.errors import ClusterAway

__all__ = ["Message", "StreamReader", "connection_of", "timeout_of"]

HEARTBEAT: Final = 1.0
"""Seconds between idle heartbeats of the server."""
_SILENCE: Final = 3 * HEARTBEAT
"""Seconds without any message or heartbeat after which the server counts as unreachable."""
_INACTIVE: Final = 5.0
"""Seconds until the server removes the consumer of a reader that disappeared."""


class Message(Struct, frozen=True, gc=False):
    """One message. `place` is its stream sequence, `left` the number of messages that follow it."""

    place: int
    subject: str
    data: bytes
    headers: dict[str, str]
    left: int


def connection_of(js: JetStreamContext) -> Client:
    """The connection of a JetStream context, which nats-py does not expose."""
    return js._nc  # pyright: ignore[reportPrivateUsage]


def timeout_of(js: JetStreamContext) -> float:
    """The seconds for which a JetStream context waits for an answer."""
    return js._timeout  # pyright: ignore[reportPrivateUsage]


class StreamReader:
    """Reads the messages of a subject after the stream sequence `after`.

    newest   start with the last message of each subject instead of the whole history
    timeout  seconds without a message, heartbeats aside, after which ClusterAway is raised: a caller that knows of a
             further message is talking to a replica that lags behind
    total    number of messages available when the reader was opened
    """

    def __init__(
        self,
        js: JetStreamContext,
        stream: str,
        subject: str,
        *,
        after: int = 0,
        newest: bool = False,
        timeout: float | None = None,
    ) -> None:
        self._js, self._stream, self._subject = js, stream, subject
        self._after, self._newest, self._timeout = after, newest, timeout
        self._received: asyncio.Queue[Msg] = asyncio.Queue()
        self._subscription: Subscription | None = None
        self._count = 0
        self.total = 0

    async def __aenter__(self) -> StreamReader:
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
            inactive_threshold=_INACTIVE,
        )
        with translate_errors(self._stream):
            self._subscription = await connection.subscribe(  # pyright: ignore[reportUnknownMemberType]
                inbox, cb=self._received.put, pending_msgs_limit=0, pending_bytes_limit=0
            )
            try:
                info = await self._js.add_consumer(self._stream, config)  # pyright: ignore[reportUnknownMemberType]
            except BaseException:
                await self._leave()
                raise
        # The server may have sent some messages before it answered; those no longer count as pending.
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
            received = await self._next()
            if received.headers and received.headers.get("Status") == "100":
                await self._control(received, received.headers)
                if self._timeout is not None and monotonic() - since > self._timeout:
                    raise ClusterAway(f"{self._stream}: the server lacks messages that are known to exist")
                continue
            with translate_errors(self._stream):
                facts, since = received.metadata, monotonic()
            self._count += 1
            if facts.sequence.consumer != self._count:
                raise ClusterAway(f"{self._stream}: a message was lost in transit")
            yield Message(
                facts.sequence.stream, received.subject, received.data, received.headers or {}, facts.num_pending
            )

    async def _next(self) -> Msg:
        if not self._received.empty():
            return self._received.get_nowait()
        try:
            async with asyncio.timeout(_SILENCE):
                return await self._received.get()
        except TimeoutError:
            raise ClusterAway(f"{self._stream}: no heartbeat from the server for {_SILENCE:g} s") from None

    async def _control(self, received: Msg, headers: dict[str, str]) -> None:
        """Answer a flow control request; check the count that an idle heartbeat carries."""
        sent = headers.get("Nats-Last-Consumer")
        if sent is not None and int(sent) != self._count:
            raise ClusterAway(f"{self._stream}: a message was lost in transit")
        if reply := received.reply or headers.get("Nats-Consumer-Stalled"):
            with translate_errors(self._stream):
                await connection_of(self._js).publish(reply)
