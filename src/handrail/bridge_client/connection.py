"""A connection to a bridge that survives the bridge: it reconnects, subscribes again and repeats unanswered commands.

The bridge does a command once, however often it is sent under its id, and continues the events of a session after the
newest one that the client names. So nothing is lost and nothing happens a second time, whichever side is restarted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final
from uuid import uuid4

import msgspec
from msgspec import Raw, Struct

from handrail.bridge_client.base import CommandFailed, Link, LoginRefused, Unreachable, Wire
from handrail.errors import HandrailError

__all__ = ["BridgeConnection", "Event", "Subscription"]

JsonObject = dict[str, Any]
PROTOCOL: Final = 1
LARGEST_MESSAGE: Final = 1024 * 1024
"""Bytes that the bridge reads as one message. It closes the socket for a longer one."""
DELAYS: Final = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
"""Seconds between attempts to connect; the last one is repeated."""
FIRST_SECONDS: Final = 3.0
DOWN_SECONDS: Final = 20.0
"""How long commands wait for a bridge that never answered, and for one that did. A restart takes a few seconds."""
RETRIED: Final = frozenset({"closing"})
"""Refusals of a bridge that is shutting down: the command is sent again after it."""


class Event(Struct, kw_only=True):
    """An event of a session: durable with a seq, else live. `stored`: it happened before the client subscribed."""

    kind: str
    seq: int = 0
    data: Raw = Raw(b"")
    stored: bool = False


class _Error(Struct):
    code: str = "failed"
    message: str = ""


class _Told(Struct):
    """A message of the bridge, with the fields that a client needs."""

    type: str
    session: str = ""
    last: int = 0
    record: JsonObject = {}
    events: list[Event] = []
    id: str = ""
    ok: bool = False
    result: JsonObject = {}
    error: _Error | None = None
    code: str = ""
    message: str = ""


_decode: Final = msgspec.json.Decoder(_Told).decode


class Subscription(Struct, kw_only=True):
    """A session that the client follows.

    take       called with each event, in order, once
    caught_up  called when the events so far have been taken; again after each reconnection
    lost       called once if the session cannot be followed any longer
    cursor     the seq of the newest event that was taken
    """

    session: str
    take: Callable[[Event], Awaitable[None]]
    caught_up: Callable[[], None]
    lost: Callable[[HandrailError], None]
    cursor: int = 0
    tail: int = 0
    until: int = 0
    opened: asyncio.Future[JsonObject]


class BridgeConnection:
    """One client of a bridge. `run` must run while it is used."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self._wire: Wire | None = None
        self._commands: dict[str, tuple[str, asyncio.Future[JsonObject]]] = {}
        self._followed: dict[str, Subscription] = {}
        self._failure: HandrailError | None = None

    async def run(self) -> None:
        """Keep the connection open. Ends when the login is refused; what waits for the bridge fails then."""
        loop = asyncio.get_running_loop()
        attempt, deadline = 0, loop.time() + FIRST_SECONDS
        failure: HandrailError = Unreachable("the connection to the server was closed")
        try:
            while True:
                try:
                    async with self.link.connect() as wire:
                        await self._greet(wire)
                        attempt = 0
                        try:
                            await self._serve(wire)
                        finally:
                            self._wire, deadline = None, loop.time() + DOWN_SECONDS
                except Unreachable as error:
                    if loop.time() >= deadline:
                        self._fail_commands(error)
                await asyncio.sleep(DELAYS[min(attempt, len(DELAYS) - 1)])
                attempt += 1
        except LoginRefused as error:
            failure = error
        finally:
            self._failure = failure
            self._fail_commands(failure)
            for followed in list(self._followed.values()):
                self._lose(followed, failure)

    async def command(self, command: str, **fields: Any) -> JsonObject:
        """Do a command and return its result. Raises CommandFailed, or Unreachable if the bridge stays away."""
        if self._failure is not None:
            raise self._failure
        id = str(uuid4())
        message = _encoded(type="command", id=id, command=command, fields=fields)
        if len(message.encode()) > LARGEST_MESSAGE:
            raise CommandFailed("too_large", f"{command}: the message is larger than {LARGEST_MESSAGE:,} bytes")
        answer: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._commands[id] = (message, answer)
        try:
            await self._say(message)
            return await answer
        finally:
            self._commands.pop(id, None)

    async def follow(
        self,
        session: str,
        *,
        take: Callable[[Event], Awaitable[None]],
        caught_up: Callable[[], None],
        lost: Callable[[HandrailError], None],
        tail: int = 0,
    ) -> JsonObject:
        """Follow a session from its first event, or from the newest `tail` ones. Returns its record.

        Raises CommandFailed if it does not exist.
        """
        if self._failure is not None:
            raise self._failure
        opened: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        followed = Subscription(session=session, take=take, caught_up=caught_up, lost=lost, tail=tail, opened=opened)
        self._followed[session] = followed
        await self._say(_subscribe(followed))
        try:
            return await opened
        except BaseException:
            self._followed.pop(session, None)
            raise

    async def unfollow(self, session: str) -> None:
        """Stop following a session."""
        if self._followed.pop(session, None) is not None:
            await self._say(_encoded(type="unsubscribe", session=session))

    # The socket

    async def _greet(self, wire: Wire) -> None:
        await wire.send(_encoded(type="hello", protocol=PROTOCOL))
        told = _read(await wire.receive())
        if told.type != "hello":
            raise LoginRefused(f"the server does not speak this protocol: {told.message or told.type}")

    async def _serve(self, wire: Wire) -> None:
        """Repeat what the bridge may not know, then take its messages. Raises Unreachable."""
        self._wire = wire
        for followed in list(self._followed.values()):
            await wire.send(_subscribe(followed))
        for message, _ in list(self._commands.values()):
            await wire.send(message)
        while True:
            await self._take(_read(await wire.receive()))

    async def _say(self, message: str) -> None:
        """Send now, if there is a connection; the next one repeats it otherwise."""
        if self._wire is not None:
            try:
                await self._wire.send(message)
            except Unreachable:
                return

    async def _take(self, told: _Told) -> None:
        followed = self._followed.get(told.session)
        match told.type:
            case "receipt":
                self._answered(told)
            case "subscribed" if followed is not None:
                self._subscribed(followed, told)
            case "events" if followed is not None:
                for event in told.events:
                    await self._event(followed, event)
            case "resync" if followed is not None:
                await self._say(_subscribe(followed))
            case "error" if followed is not None:
                self._lose(followed, CommandFailed(told.code, told.message))
            case "error" if not told.session:
                raise Unreachable(f"the server ended the connection: {told.message}")
            case _:
                return

    def _answered(self, told: _Told) -> None:
        _, answer = self._commands.get(told.id, ("", None))
        if answer is None or answer.done():
            return
        if told.ok:
            answer.set_result(told.result)
        elif told.error is None or told.error.code not in RETRIED:
            error = told.error or _Error()
            answer.set_exception(CommandFailed(error.code, error.message))

    def _subscribed(self, followed: Subscription, told: _Told) -> None:
        if followed.cursor > told.last:  # the store of the bridge was lost: its events have new numbers
            followed.cursor = told.last
        followed.until = told.last
        if not followed.opened.done():
            followed.opened.set_result(told.record)
        if followed.cursor >= told.last:
            followed.caught_up()

    async def _event(self, followed: Subscription, event: Event) -> None:
        if event.seq and event.seq <= followed.cursor:
            return
        event.stored = 0 < event.seq <= followed.until
        if event.seq and not bytes(event.data):  # too large for the socket
            event.data = await self._fetched(followed.session, event.seq)
        await followed.take(event)
        if event.seq:
            followed.cursor = event.seq
            if event.seq == followed.until:
                followed.caught_up()

    async def _fetched(self, session: str, seq: int) -> Raw:
        try:
            return Raw(await self.link.event(session, seq))
        except CommandFailed:  # deleted meanwhile
            return Raw(b"{}")

    # Failures

    def _fail_commands(self, error: HandrailError) -> None:
        for _, answer in self._commands.values():
            if not answer.done():
                answer.set_exception(error)

    def _lose(self, followed: Subscription, error: HandrailError) -> None:
        self._followed.pop(followed.session, None)
        if not followed.opened.done():
            followed.opened.set_exception(error)
        else:
            followed.lost(error)


def _encoded(**message: Any) -> str:
    return msgspec.json.encode(message).decode()


def _subscribe(followed: Subscription) -> str:
    tail = 0 if followed.opened.done() else followed.tail
    return _encoded(type="subscribe", session=followed.session, after=followed.cursor, tail=tail)


def _read(text: str | bytes) -> _Told:
    try:
        return _decode(text)
    except msgspec.MsgspecError as error:
        raise Unreachable(f"the server sent an invalid message: {error}") from None
