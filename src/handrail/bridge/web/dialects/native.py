"""The native protocol, `handrail.v1`. Events are sent in order, as many per frame as fit.

| client sends | fields |
|---|---|
| hello | protocol; must be the first message |
| subscribe | session; after: the seq of the newest known event; tail: at most this many of the newest |
| unsubscribe | session |
| watch | follow the list of sessions |
| command | id, command, fields |
| visible | visible: whether someone is looking at the client; false until it says otherwise |
| ping | |

| server sends | fields |
|---|---|
| hello | protocol, version, device, scopes, commands, machine: its name in the cluster, "" if it is alone |
| subscribed | session, verdict (replayed or snapshot), reason, first, last |
| events | session, events: durable with a seq, or live |
| sessions | items: a session that changed, or the id of a deleted one |
| receipt | id, ok, result or error |
| resync | session, reason: subscribe again with the newest seq |
| heartbeat | time; twice a minute |
| error | code, message; after a protocol error the socket is closed |
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Awaitable, Callable
from itertools import accumulate
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from handrail.bridge.commands.executor import COMMANDS
from handrail.bridge.commands.table import refused
from handrail.bridge.errors import BridgeError, ClusterAway
from handrail.bridge.session.events import LARGEST, item, live_item
from handrail.bridge.session.feed import CutOff, FollowedSession, Follower
from handrail.bridge.store.base import SessionLine
from handrail.bridge.web.devices import Device
from handrail.bridge.web.dialects.base import NativeBackend, Wire
from handrail.bridge.web.viewers import for_viewers

__all__ = ["PROTOCOL", "Client"]

JsonObject = dict[str, Any]
PROTOCOL: Final = 1
MOST_BYTES: Final = 768 * 1024
LARGEST_RECEIPT: Final = MOST_BYTES
HEARTBEAT: Final = 30.0
MOST_SUBSCRIPTIONS: Final = 64
MOST_WAITING: Final = 256
"""Commands and replies in progress for one client; above this its messages are not read."""
_Session = Annotated[str, Meta(max_length=64)]


class _Said(Struct, forbid_unknown_fields=True):
    """A message of a client."""

    type: str
    protocol: int = 0
    session: _Session = ""
    after: Annotated[int, Meta(ge=0, le=2**53)] = 0
    tail: Annotated[int, Meta(ge=0, le=2**53)] = 0
    id: Annotated[str, Meta(max_length=64)] = ""
    command: Annotated[str, Meta(max_length=64)] = ""
    fields: msgspec.Raw = msgspec.Raw(b"{}")
    visible: bool = False


_decode: Final = msgspec.json.Decoder(_Said).decode


class _Item(Struct):
    """An item of the session list."""

    session: SessionLine | UnsetType = UNSET
    deleted: str | UnsetType = UNSET


class _Offence(Exception):
    """The client violates the protocol."""

    def __init__(self, code: str, message: str) -> None:
        self.code, self.message = code, message
        super().__init__(message)


class _Subscription:
    """A session that a client follows: first the persisted events, then the feed."""

    def __init__(self, host: FollowedSession, after: int) -> None:
        self.host, self.sent = host, after
        self.follower: Follower = host.feed.follow()
        self.until = host.seq
        """Events up to this seq are read from the log; later ones arrive through the feed."""
        self.so_far = [live_item(raw) for raw in host.partial.so_far() if len(raw) <= LARGEST]

    @property
    def pending(self) -> bool:
        """Whether there is something to send."""
        return self.sent < self.until or bool(self.so_far) or self.follower.pending


class Client:
    """One socket."""

    def __init__(self, backend: NativeBackend, device: Device, wire: Wire, *, version: str = "") -> None:
        self._backend, self._device, self._wire, self._version = backend, device, wire, version
        self._more = asyncio.Event()
        self._replies: deque[bytes] = deque()
        self._room = asyncio.Event()
        self._subscriptions: dict[str, _Subscription] = {}
        self._list: Follower | None = None
        self._running: set[asyncio.Task[None]] = set()
        self._visible = False

    def shows(self, session: str) -> bool:
        """Whether someone is looking at this session or at the list."""
        return self._visible and (session in self._subscriptions or self._list is not None)

    async def run(self) -> None:
        """Serve the client until it disconnects."""
        sending = asyncio.create_task(self._send())
        beating = asyncio.create_task(self._beat())
        receiving = asyncio.create_task(self._receive())
        self._backend.watchers.add(self)
        try:
            await asyncio.wait([receiving, sending], return_when=asyncio.FIRST_COMPLETED)
            for failure in [task.exception() for task in (receiving, sending) if task.done()]:
                if isinstance(failure, _Offence):
                    await self._complain(failure)
                elif failure is not None:
                    raise failure
        finally:
            self._backend.watchers.discard(self)
            tasks = [receiving, sending, beating, *self._running]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for subscription in self._subscriptions.values():
                subscription.follower.close()
            if self._list is not None:
                self._list.close()

    async def _complain(self, offence: _Offence) -> None:
        self._reply({"type": "error", "code": offence.code, "message": offence.message})
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self._flush(), 1)
            await self._wire.close(4400, offence.code)

    # From the client

    async def _receive(self) -> None:
        greeted = False
        while (text := await self._wire.receive()) is not None:
            try:
                said = _decode(text)
            except msgspec.MsgspecError as error:
                raise _Offence("bad_message", str(error)) from None
            if not greeted and said.type != "hello":
                raise _Offence("no_hello", "the first message must be hello")
            greeted = True
            answering = self._table.get(said.type)
            if answering is None:
                raise _Offence("unknown_type", f"unknown message type {said.type!r}")
            await answering(self, said)
            while (
                len(self._replies) + len(self._running) > MOST_WAITING
            ):  # a client that does not read is not read from
                self._room.clear()
                await self._room.wait()

    async def _hello(self, said: _Said) -> None:
        if said.protocol != PROTOCOL:
            raise _Offence("protocol", f"this server speaks protocol {PROTOCOL}, not {said.protocol}")
        device, scopes = self._device, sorted(self._device.scopes)
        commands = [name for name, row in COMMANDS.items() if row.scope in self._device.scopes]
        self._reply(
            {
                "type": "hello",
                "protocol": PROTOCOL,
                "version": self._version,
                "device": device.name,
                "scopes": scopes,
                "commands": commands,
                "machine": self._backend.router.name,
            }
        )

    async def _subscribe(self, said: _Said) -> None:
        if len(self._subscriptions) >= MOST_SUBSCRIPTIONS and said.session not in self._subscriptions:
            raise _Offence("too_many", f"a client can follow at most {MOST_SUBSCRIPTIONS} sessions")
        try:
            host = await self._backend.router.follow(said.session, said.after)
            bounds = await self._backend.sessions.events.bounds(said.session)
        except BridgeError as refusal:
            code = getattr(refusal, "code", "cluster_away" if isinstance(refusal, ClusterAway) else "failed")
            self._reply({"type": "error", "code": code, "message": str(refusal), "session": said.session})
            return
        self._drop(said.session)
        after, reason = said.after, ""
        if after > host.seq:
            after, reason = 0, "the seq is higher than any of this session"
        elif after + 1 < bounds.first:
            reason = "older events were deleted" if after else ""
            after = bounds.first - 1
        if said.tail and host.seq - after > said.tail:
            after, reason = host.seq - said.tail, "older events exist and were not requested"
        subscription = self._subscriptions[said.session] = _Subscription(host, after)
        subscription.follower.on_wake = self._more
        verdict = {"verdict": "snapshot" if reason else "replayed", "reason": reason}
        place = {"first": bounds.first, "last": subscription.until}
        record = host.record.line(paths=self._device.sees_paths)
        self._reply({"type": "subscribed", "session": said.session, **verdict, **place, "record": record})

    async def _unsubscribe(self, said: _Said) -> None:
        self._drop(said.session)

    def _drop(self, session: str) -> None:
        if (before := self._subscriptions.pop(session, None)) is not None:
            before.follower.close()

    async def _watch(self, said: _Said) -> None:
        if self._list is None:
            self._list = self._backend.sessions.list_feed.follow()
            self._list.on_wake = self._more

    async def _command(self, said: _Said) -> None:
        if not said.id or not said.command:
            raise _Offence("bad_message", "a command needs an id and a name")
        task = asyncio.create_task(self._do(said))  # a slow command does not delay other messages
        self._running.add(task)
        task.add_done_callback(self._ran)

    def _ran(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._room.set()

    async def _do(self, said: _Said) -> None:
        device = self._device
        receipt = await self._backend.commands.do(
            device.id, said.id, said.command, bytes(said.fields), by=device.name, scopes=device.scopes
        )
        if len(receipt) > LARGEST_RECEIPT:
            receipt = refused("too_large", "the result is larger than a frame; request it over HTTP with the same id")
        self._replies.append(b'{"type":"receipt","id":%s,%s' % (msgspec.json.encode(said.id), receipt[1:]))
        self._more.set()

    async def _ping(self, said: _Said) -> None:
        self._reply({"type": "heartbeat", "time": round(time.time() * 1000)})

    async def _see(self, said: _Said) -> None:
        self._visible = said.visible

    _table: Final[dict[str, Callable[[Client, _Said], Awaitable[None]]]] = {
        "hello": _hello,
        "subscribe": _subscribe,
        "unsubscribe": _unsubscribe,
        "watch": _watch,
        "command": _command,
        "ping": _ping,
        "visible": _see,
    }

    # To the client

    def _reply(self, line: JsonObject) -> None:
        self._replies.append(msgspec.json.encode(line))
        self._more.set()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT)
            self._reply({"type": "heartbeat", "time": round(time.time() * 1000)})

    async def _send(self) -> None:
        """Send everything that is pending, a frame at a time."""
        while True:
            self._more.clear()
            await self._flush()
            for session in [id for id, one in self._subscriptions.items() if one.pending]:
                await self._send_events(session)
            await self._send_list()
            waiting = any(one.pending for one in self._subscriptions.values())
            if not (waiting or self._replies or (self._list is not None and self._list.pending)):
                await self._more.wait()

    async def _flush(self) -> None:
        while self._replies:
            await self._wire.send(self._replies.popleft().decode())
            self._room.set()

    async def _send_events(self, session: str) -> None:
        await self._flush()  # `subscribed` precedes its events
        subscription = self._subscriptions.get(session)
        if subscription is None:
            return
        try:
            joined = await self._next(subscription)
        except (CutOff, BridgeError) as error:
            self._drop(session)
            reason = str(error) or "the client reads too slowly"
            return self._reply({"type": "resync", "session": session, "reason": reason})
        if joined:
            joined = joined if self._device.sees_paths else for_viewers(joined)
            head = b'{"type":"events","session":"%s","events":[' % session.encode()
            await self._wire.send((head + joined + b"]}").decode())

    async def _next(self, subscription: _Subscription) -> bytes:
        """The next items, joined by commas: from the log, then the block in progress, then from the feed."""
        if subscription.sent < subscription.until:
            page = await subscription.host.read(subscription.sent, most_bytes=MOST_BYTES)
            page = [one for one in page if one.seq <= subscription.until]
            subscription.sent = page[-1].seq if page else subscription.until
            return b",".join(map(item, page))
        if subscription.so_far:
            taken = _page(subscription.so_far)
            subscription.so_far = subscription.so_far[len(taken) :]
            return b",".join(taken)
        return subscription.follower.take(MOST_BYTES)

    async def _send_list(self) -> None:
        if self._list is None or not self._list.pending:
            return
        try:
            items = self._list.take(MOST_BYTES)
        except CutOff:
            self._list.close()
            self._list = None
            return self._reply({"type": "resync", "session": "", "reason": "the client reads too slowly"})
        if not self._device.sees_paths:
            items = _without_paths(items)
        await self._wire.send((b'{"type":"sessions","items":[' + items + b"]}").decode())


def _page(items: list[bytes]) -> list[bytes]:
    """The leading items that fit into a frame, at least one."""
    ends = accumulate(map(len, items))
    return items[: max(1, sum(end <= MOST_BYTES for end in ends))]


def _without_paths(items: bytes) -> bytes:
    """Items of the list as viewers see them."""
    told = msgspec.json.decode(b"[" + items + b"]", type=list[_Item])
    shown = [
        _Item(session=one.session.without_paths()) if isinstance(one.session, SessionLine) else one for one in told
    ]
    return msgspec.json.encode(shown)[1:-1]
