"""Answers the requests of other machines.

The NATS servers authenticate the machines that may publish here. Each of them vouches for its own clients: a device's
scopes are checked where it is connected, and again here.
"""

# nats-py has untyped members.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

import msgspec
from nats.aio.client import Client as NatsClient
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from handrail.bridge.cluster.following.relay import Relay
from handrail.bridge.cluster.nats.names import ALL_NODES, do_subject, is_request, node_subject
from handrail.bridge.cluster.routing.knowledge import Knowledge
from handrail.bridge.cluster.routing.requests import Ask, Do, Known, decode, encode
from handrail.bridge.commands.router import Fetch, Fetched
from handrail.bridge.commands.table import Call, refused
from handrail.bridge.session.host import SessionHost

__all__ = ["AnswerFetch", "DoHere", "Responder"]

log = logging.getLogger("handrail.bridge")
PART: Final = 512 * 1024
"""Bytes of a body per message."""
DoHere = Callable[[Call, str, bytes], Awaitable[bytes]]
AnswerFetch = Callable[[Fetch], Awaitable[Fetched]]


class Responder:
    """Answers the requests to one machine.

    `do` runs a forwarded command and returns its receipt. `answer_fetch` is this machine's own route for files and
    frames.
    """

    def __init__(
        self, nats: NatsClient, name: str, *, do: DoHere, knowledge: Knowledge, answer_fetch: AnswerFetch
    ) -> None:
        self._nats, self._name = nats, name
        self._do_here, self._knowledge, self._answer_fetch = do, knowledge, answer_fetch
        self._own: list[Subscription] = []
        self._held: dict[str, tuple[Subscription, Relay]] = {}
        self._running: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Start answering."""
        for subject in (node_subject(self._name), ALL_NODES):
            self._own.append(await self._nats.subscribe(subject, cb=self._on_request))

    async def close(self) -> None:
        """Stop answering."""
        for one in self._own:
            await _unsubscribe(one)
        for session in list(self._held):
            await self.stop_serving(session)
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def serve(self, host: SessionHost) -> None:
        """Accept commands and followers of a session that runs here from now on."""
        await self.stop_serving(host.record.id)
        relay = Relay(self._nats, host)
        await relay.open()
        self._held[host.record.id] = await self._nats.subscribe(do_subject(host.record.id), cb=self._on_request), relay

    async def stop_serving(self, session: str) -> None:
        """Stop answering for a session that no longer runs here."""
        if (held := self._held.pop(session, None)) is not None:
            subscription, relay = held
            await _unsubscribe(subscription)
            await relay.close()

    async def announce(self) -> None:
        """Make followers subscribe again after NATS was unreachable."""
        for _, relay in list(self._held.values()):
            await relay.announce()

    async def _on_request(self, message: Msg) -> None:
        if not is_request(message.subject):
            return log.error("rejected a stored message that was replayed as a request on %s", message.subject)
        try:
            ask = decode(message.data)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            return log.warning("malformed request on %s: %s", message.subject, error)
        task = asyncio.create_task(self._answer(ask, message))  # a slow request does not delay others
        self._running.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("cannot answer a request of another machine: %s", error)

    async def _answer(self, ask: Ask, message: Msg) -> None:
        if isinstance(ask, Do):
            await message.respond(await self._do(ask))
        elif isinstance(ask, Fetch):
            await self._fetch(ask, message.respond)
        else:
            await message.respond(encode(Known(self._name, await self._knowledge.answer(ask))))

    async def _do(self, ask: Do) -> bytes:
        call = Call(ask.key, ask.by, frozenset(ask.scopes))
        receipt = await self._do_here(call, ask.command, ask.fields)
        if len(receipt) > self._nats.max_payload:
            return refused("too_large", "the result exceeds the payload limit of NATS")
        return receipt

    async def _fetch(self, fetch: Fetch, respond: Callable[[bytes], Coroutine[Any, Any, None]]) -> None:
        found = await self._answer_fetch(fetch)
        parts = [found.body[at : at + PART] for at in range(0, len(found.body), PART)] or [b""]
        for n, part in enumerate(parts, 1):
            await respond(encode(Fetched(found.status, found.headers if n == 1 else [], part, n < len(parts))))


async def _unsubscribe(subscription: Subscription) -> None:
    with contextlib.suppress(NatsError):  # the connection is closed, and the subscription with it
        await subscription.unsubscribe()
