"""Asks other nodes. In: an ask. Out: the answer of one, or of all that answer in time."""

# nats-py says of some of its own only that they are there.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import msgspec
from nats.aio.client import Client as NatsClient
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError

from handrail.bridge.cluster.nats.names import ALL_NODES
from handrail.bridge.cluster.routing.asks import Ask, Fetched, Know, Known, decode_fetched, decode_known, encode
from handrail.bridge.errors import ClusterAway

__all__ = ["Asking", "NobodyThere"]

ALL_SECONDS: Final = 2.0
FETCH_SECONDS: Final = 30.0
NO_RESPONDERS: Final = "503"


class NobodyThere(Exception):
    """Nobody listens to this subject."""


class Asking:
    """Asks over one connection."""

    def __init__(self, nats: NatsClient) -> None:
        self._nats = nats

    def _check(self, data: bytes) -> None:
        """Nothing is sent later: who has given up must not have it done after all."""
        if not self._nats.is_connected:
            raise ClusterAway("NATS does not answer: what other machines have is out of reach just now")
        if len(data) > self._nats.max_payload:
            raise ClusterAway(f"this is larger than machines can pass on ({self._nats.max_payload} bytes)")

    async def one(self, subject: str, ask: Ask, *, seconds: float) -> bytes:
        """The answer of whoever listens. NobodyThere; TimeoutError where it is not known what became of it."""
        data = encode(ask)
        self._check(data)
        try:
            return (await self._nats.request(subject, data, timeout=seconds)).data
        except NoRespondersError:
            raise NobodyThere(subject) from None
        except NatsError as error:
            raise TimeoutError(str(error)) from None

    async def fetch(self, subject: str, ask: Ask) -> Fetched:
        """An answer that may come in pieces. NobodyThere, TimeoutError."""
        async with self._answers(subject, ask) as answers, asyncio.timeout(FETCH_SECONDS):
            first, body = Fetched(), bytearray()
            while True:
                message = await answers.get()
                if _is_nobody(message):
                    raise NobodyThere(subject)
                piece = decode_fetched(message.data)
                first = first if body else piece
                body += piece.body
                if not piece.more:
                    return Fetched(first.status, first.headers, bytes(body))

    async def all(self, ask: Know, nodes: set[str]) -> list[Known]:
        """What these nodes know; whoever takes too long is left out."""
        if not nodes:
            return []
        found: dict[str, Known] = {}
        async with self._answers(ALL_NODES, ask) as answers:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ALL_SECONDS):
                    while not nodes <= found.keys():
                        message = await answers.get()
                        if _is_nobody(message):
                            break
                        with contextlib.suppress(msgspec.MsgspecError):
                            known = decode_known(message.data)
                            found[known.node] = known
        return list(found.values())

    @asynccontextmanager
    async def _answers(self, subject: str, ask: Ask) -> AsyncGenerator[asyncio.Queue[Msg]]:
        """All that is answered to an ask."""
        data = encode(ask)
        self._check(data)
        inbox, answers = self._nats.new_inbox(), asyncio.Queue[Msg]()
        subscription = await self._nats.subscribe(inbox, cb=answers.put)
        try:
            await self._nats.publish(subject, data, reply=inbox)
            yield answers
        finally:
            with contextlib.suppress(NatsError):
                await subscription.unsubscribe()


def _is_nobody(message: Msg) -> bool:
    return not message.data and bool(message.headers) and message.headers.get("Status") == NO_RESPONDERS
