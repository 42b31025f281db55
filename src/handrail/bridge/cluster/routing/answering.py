"""What other nodes ask of this one. In: requests on NATS. Out: receipts, answers of routes, what is known here.

Whoever may publish on these subjects was let in by the NATS servers, and vouches for its own clients: what a device may
is checked where it came in, and here again by the scopes that came along.
"""

# nats-py says of some of its own only that they are there.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec
from nats.aio.client import Client as NatsClient
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from handrail.bridge.cluster.following.relay import Relay
from handrail.bridge.cluster.nats.names import ALL_NODES, do_subject, is_request, node_subject
from handrail.bridge.cluster.routing.asks import Ask, Do, Fetch, Fetched, Known, decode, encode
from handrail.bridge.cluster.routing.knowing import known_here
from handrail.bridge.commands.table import Call, refused
from handrail.bridge.session.host import SessionHost
from handrail.bridge.web.devices import Device

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge
    from handrail.bridge.web.app import App

__all__ = ["Answering"]

log = logging.getLogger("handrail.bridge")
PIECE: Final = 512 * 1024
"""A body goes in pieces of so many bytes."""


class Answering:
    """Answers what is asked of one node."""

    def __init__(self, bridge: Bridge, nats: NatsClient, name: str) -> None:
        self.bridge, self._nats, self._name = bridge, nats, name
        self._own: list[Subscription] = []
        self._held: dict[str, tuple[Subscription, Relay]] = {}
        self._working: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """From now on it answers."""
        for subject in (node_subject(self._name), ALL_NODES):
            self._own.append(await self._nats.subscribe(subject, cb=self._asked))

    async def close(self) -> None:
        """It answers no more."""
        for one in self._own:
            await _unsubscribe(one)
        for session in list(self._held):
            await self.left(session)
        for task in self._working:
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)

    async def taken(self, host: SessionHost) -> None:
        """A session runs here from now on: commands for it, and those who follow it, come to us."""
        await self.left(host.record.id)
        relay = Relay(self._nats, host)
        await relay.open()
        self._held[host.record.id] = await self._nats.subscribe(do_subject(host.record.id), cb=self._asked), relay

    async def left(self, session: str) -> None:
        """It runs here no more."""
        if (held := self._held.pop(session, None)) is not None:
            subscription, relay = held
            await _unsubscribe(subscription)
            await relay.close()

    async def announce(self) -> None:
        """NATS was away: whoever follows our sessions should ask anew."""
        for _, relay in list(self._held.values()):
            await relay.announce()

    async def _asked(self, message: Msg) -> None:
        if not is_request(message.subject):
            return log.error("something that was kept under %s was passed off as a request", message.subject)
        try:
            ask = decode(message.data)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            return log.warning("something that is no request came on %s: %s", message.subject, error)
        task = asyncio.create_task(self._answer(ask, message))  # a slow one holds up nothing else
        self._working.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._working.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a request of another machine could not be answered: %s", error)

    async def _answer(self, ask: Ask, message: Msg) -> None:
        if isinstance(ask, Do):
            await message.respond(await self._do(ask))
        elif isinstance(ask, Fetch):
            await self._fetch(ask, message.respond)
        else:
            await message.respond(encode(Known(self._name, await known_here(self.bridge, ask))))

    async def _do(self, ask: Do) -> bytes:
        call = Call(ask.key, ask.by, frozenset(ask.scopes))
        receipt = await self.bridge.commands.do_here(call, ask.command, ask.fields)
        if len(receipt) > self._nats.max_payload:
            return refused("too_large", "the answer is larger than machines can pass on")
        return receipt

    # Routes

    async def _fetch(self, ask: Fetch, respond: Callable[[bytes], Coroutine[Any, Any, None]]) -> None:
        found = await self._visited(ask)
        pieces = [found.body[at : at + PIECE] for at in range(0, len(found.body), PIECE)] or [b""]
        for n, piece in enumerate(pieces, 1):
            await respond(encode(Fetched(found.status, found.headers if n == 1 else [], piece, n < len(pieces))))

    async def _visited(self, ask: Fetch) -> Fetched:
        """What our own route says to it."""
        # A runner loads what serves pages only where somebody asks for what lies here.
        from handrail.bridge.web.app import answered
        from handrail.bridge.web.http.route import Asked, Refused, find, read_query

        device = Device(ask.device, ask.name, "program", cast("Any", frozenset(ask.scopes)), 0, 0)
        try:
            route, parts = find(ask.method, ask.path)
            if route.scope is None or route.scope not in device.scopes or not route.on_machine:
                raise Refused(403, "forbidden", "this is not for other machines, or not for this device")
            query = read_query(ask.query, route.query)
            asked = Asked(app=cast("App", self), device=device, parts=parts, query=query, body=None)
            response = await answered(route, asked)
        except Refused as refusal:
            return Fetched(refusal.status, [("content-type", "application/json")], refusal.body)
        headers = [(name.decode(), value.decode()) for name, value in response.raw_headers if name != b"content-length"]
        return Fetched(response.status_code, headers, bytes(response.body))


async def _unsubscribe(subscription: Subscription) -> None:
    with contextlib.suppress(NatsError):  # the connection has gone, and with it what was subscribed to
        await subscription.unsubscribe()
