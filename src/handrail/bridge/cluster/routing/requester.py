"""Sends requests to other machines: to one, or to all."""

# nats-py has untyped members.
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
from handrail.bridge.cluster.routing.requests import Ask, Know, Known, decode_fetched, decode_known, encode
from handrail.bridge.commands.router import Fetched
from handrail.bridge.errors import ClusterAway

__all__ = ["NoResponder", "Requester"]

ALL_SECONDS: Final = 2.0
FETCH_SECONDS: Final = 30.0
NO_RESPONDERS: Final = "503"


class NoResponder(Exception):
    """No machine listens on the subject."""


class Requester:
    """Sends requests over one NATS connection."""

    def __init__(self, nats: NatsClient) -> None:
        self._nats = nats

    def _check(self, data: bytes) -> None:
        """Refuse instead of buffering: a request must not run after its sender has given up."""
        if not self._nats.is_connected:
            raise ClusterAway("NATS is unreachable, and with it the other machines; try again later")
        if len(data) > self._nats.max_payload:
            raise ClusterAway(f"the request exceeds the payload limit of NATS ({self._nats.max_payload} bytes)")

    async def request(self, subject: str, ask: Ask, *, seconds: float) -> bytes:
        """The response of the machine on a subject. Raises NoResponder, or TimeoutError if the outcome is unknown."""
        data = encode(ask)
        self._check(data)
        try:
            return (await self._nats.request(subject, data, timeout=seconds)).data
        except NoRespondersError:
            raise NoResponder(subject) from None
        except NatsError as error:
            raise TimeoutError(str(error)) from None

    async def fetch(self, subject: str, ask: Ask) -> Fetched:
        """A response that may come in parts. Raises NoResponder, TimeoutError."""
        async with self._answers(subject, ask) as answers, asyncio.timeout(FETCH_SECONDS):
            first, body = Fetched(), bytearray()
            while True:
                message = await answers.get()
                if _no_responders(message):
                    raise NoResponder(subject)
                part = decode_fetched(message.data)
                first = first if body else part
                body += part.body
                if not part.more:
                    return Fetched(first.status, first.headers, bytes(body))

    async def broadcast(self, ask: Know, nodes: set[str]) -> list[Known]:
        """The answers of these nodes, without those that do not respond within ALL_SECONDS."""
        if not nodes:
            return []
        found: dict[str, Known] = {}
        async with self._answers(ALL_NODES, ask) as answers:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ALL_SECONDS):
                    while not nodes <= found.keys():
                        message = await answers.get()
                        if _no_responders(message):
                            break
                        with contextlib.suppress(msgspec.MsgspecError):
                            known = decode_known(message.data)
                            found[known.node] = known
        return list(found.values())

    @asynccontextmanager
    async def _answers(self, subject: str, ask: Ask) -> AsyncGenerator[asyncio.Queue[Msg]]:
        """A queue of all responses to a request."""
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


def _no_responders(message: Msg) -> bool:
    return not message.data and bool(message.headers) and message.headers.get("Status") == NO_RESPONDERS
