"""Requests from one machine to another: the messages, the sender and the responder.

| request | sent to | response |
|---|---|---|
| Do | the machine that runs a session, or one that is to run it | the receipt of the command |
| Fetch | one machine | the response of its route: files, raw frames |
| Know | all machines | what each knows: search hits, terminal sessions, usage, folders, ACP agents, visible sessions |

The NATS servers authenticate the machines that may send requests. Each of them vouches for its own clients: a device's
scopes are checked where it is connected, and again by the responder.
"""

# nats-py has untyped members.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
from msgspec import Struct
from nats.aio.client import Client as NatsClient
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError

from handrail.bridge.cluster.following.relay import Relay
from handrail.bridge.cluster.nats.names import ALL_NODES, do_subject, is_request, node_subject
from handrail.bridge.commands.router import Alone, Fetch, Fetched
from handrail.bridge.commands.table import Call, refused
from handrail.bridge.errors import BridgeError, ClusterAway
from handrail.bridge.session.host import SessionHost

__all__ = [
    "AnswerFetch",
    "Ask",
    "Do",
    "DoHere",
    "Know",
    "Knowledge",
    "Known",
    "NoResponder",
    "Requester",
    "Responder",
    "decode",
    "decode_fetched",
    "decode_known",
    "encode",
]

log = logging.getLogger("handrail.bridge")
ALL_SECONDS: Final = 2.0
FETCH_SECONDS: Final = 30.0
NO_RESPONDERS: Final = "503"
PART: Final = 512 * 1024
"""Bytes of a body per message."""
JsonObject = dict[str, Any]
DoHere = Callable[[Call, str, bytes], Awaitable[bytes]]
AnswerFetch = Callable[[Fetch], Awaitable[Fetched]]


# Messages


class Do(Struct, frozen=True, tag=True):
    """A command of a client that is connected to another machine. `key` is unique across devices."""

    key: str
    by: str
    scopes: list[str]
    command: str
    fields: bytes


class Know(Struct, frozen=True, tag=True):
    """A question to every machine; `what` is a row of `Knowledge`."""

    what: str
    fields: dict[str, Any] = {}


class Known(Struct, frozen=True):
    """The answer of one machine; None if it cannot answer."""

    node: str
    answer: Any = None


Ask = Do | Fetch | Know
_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Ask)
decode_fetched: Final = msgspec.msgpack.Decoder(Fetched).decode
decode_known: Final = msgspec.msgpack.Decoder(Known).decode


def encode(message: Ask | Fetched | Known) -> bytes:
    """A request or response as msgpack."""
    return _encoder.encode(message)


def decode(data: bytes) -> Ask:
    """A request. Raises msgspec.MsgspecError for anything else."""
    return _decoder.decode(data)


# Sending


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
            await _unsubscribe(subscription)


def _no_responders(message: Msg) -> bool:
    return not message.data and bool(message.headers) and message.headers.get("Status") == NO_RESPONDERS


# Answering


class Knowledge:
    """Answers of this machine to requests that are sent to all machines, by the name of the request."""

    def __init__(self, here: Alone) -> None:
        self._here = here
        self._rows: dict[str, Callable[[JsonObject], Awaitable[Any]]] = {
            "search": self._search,
            "terminal": lambda fields: here.terminal_sessions(fields["limit"]),
            "usage": lambda fields: here.usage(fields["days"]),
            "folders": lambda fields: here.folders(fields["below"]),
            "agents": self._agents,
            "shown": lambda fields: here.is_shown(fields["session"]),
        }

    async def answer(self, know: Know) -> Any:
        """The answer; None if this machine cannot answer."""
        try:
            return await self._rows[know.what](know.fields)
        except (BridgeError, KeyError, TypeError, ValueError):
            return None

    async def _agents(self, fields: JsonObject) -> Any:
        return msgspec.to_builtins(await self._here.agents(fields["ask"]))

    async def _search(self, fields: JsonObject) -> Any:
        found = await self._here.search(fields["words"], limit=fields["limit"], session=fields["session"])
        return msgspec.to_builtins(found)


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
