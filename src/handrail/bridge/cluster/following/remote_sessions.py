"""Sessions of other machines, as clients of this one follow them.

A remote session has the interface of a local one: a feed, a seq, a record and the block in progress. Every durable
event arrives once and in order, even if messages are lost; if parts of a block were lost, clients subscribe again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import msgspec
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError

from handrail.bridge.cluster.following.live import (
    Answer,
    Ask,
    Item,
    LiveSequence,
    encode,
    read_answer,
    read_live,
    read_page,
)
from handrail.bridge.cluster.nats.names import follow_subject, live_subject
from handrail.bridge.errors import BridgeError, ClusterAway, CommandRefused
from handrail.bridge.session.events import item
from handrail.bridge.session.feed import Feed, Partial
from handrail.bridge.store.base import Event, EventLog, SessionIndex, SessionRecord, State

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

__all__ = ["RemoteSession", "Remotes"]

log = logging.getLogger("handrail.bridge")
RENEW: Final = 15.0
"""Seconds between requests; the owner forgets us after three missed ones."""
ANSWER_WITHIN: Final = 2.0
RETRY_SECONDS: Final = 0.25
"""Delay after a failed request; doubled each time."""
PAUSE: Final = 0.1
TRIES: Final = 20
"""Requests to an owner that is behind the log: it has just started, or is about to lose the session."""
PAGE: Final = 512 * 1024
MOST_PAGES: Final = 8
"""A follower that missed more must subscribe again, because a feed does not hold more."""
KEPT_SECONDS: Final = 60.0
"""Seconds that an unused remote session stays open."""


class _Line(msgspec.Struct):
    """The fields of a CLI message that end a block."""

    type: str = ""
    parent_tool_use_id: str | None = None


_line: Final = msgspec.json.Decoder(_Line).decode


class RemoteSession:
    """One remote session."""

    def __init__(
        self,
        nats: Client,
        log: EventLog,
        record: SessionRecord,
        *,
        renew: float = RENEW,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._nats, self._log, self.record, self._renew, self._clock = nats, log, record, renew, clock
        self.feed, self.partial = Feed(), Partial()
        self.touched = clock()
        """When a client last asked for it."""
        self._sequence = LiveSequence()
        self._ask_now = asyncio.Event()
        self._asking = asyncio.Lock()
        self._live: Subscription | None = None
        self._following: asyncio.Task[None] | None = None
        self._closed = False
        """A NATS request that completes while it is cancelled swallows the cancellation."""

    @property
    def seq(self) -> int:
        """The seq of the newest event that followers may have seen."""
        return self._sequence.seq

    @property
    def live(self) -> bool:
        """Whether the owner is sending live messages."""
        return bool(self._sequence.life)

    def state(self) -> State:
        """The state of the session."""
        return self.record.state

    def is_forgettable(self, after: float = 60.0) -> bool:
        """Whether it has been unused and without followers for this many seconds."""
        return not self.feed.followers and self._clock() - self.touched >= after

    # Open and close

    async def open(self) -> None:
        """Start at the position of the owner, or at the end of the log without one. Raises ClusterAway."""
        try:
            self._live = await self._nats.subscribe(live_subject(self.record.id), cb=self._on_live)  # pyright: ignore[reportUnknownMemberType]
        except (NatsError, OSError) as error:
            raise self._away(error) from error
        try:
            await self._first_catch_up()
        except BaseException:
            await self._unsubscribe()
            raise
        self._following = asyncio.create_task(self._follow(), name="handrail remote session")

    async def _first_catch_up(self) -> None:
        try:
            await self._catch_up()
        except ClusterAway:  # retry later; meanwhile serve the log
            await self._serve_log()

    async def close(self, why: str = "the session is no longer followed from this machine") -> None:
        """Stop following; clients must subscribe again."""
        self._closed = True
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait([self._following])
        await self._unsubscribe()
        self.feed.cut(why)

    async def _unsubscribe(self) -> None:
        if self._live is not None:
            with contextlib.suppress(NatsError, OSError):
                await self._live.unsubscribe()

    # Live messages

    def changed(self, record: SessionRecord) -> None:
        """Called when the record in the index changed."""
        before, self.record = self.record, record
        if not self.live or before.runner != record.runner:
            self.ask_owner()

    def ask_owner(self) -> None:
        """Ask the owner at once: the connection was lost, or the owner changed."""
        self._ask_now.set()

    async def _on_live(self, message: Msg) -> None:
        """Never awaits, so messages sent before an answer are processed before it."""
        try:
            live = read_live(message.data)
        except msgspec.MsgspecError:
            return log.warning("malformed live message of session %s", self.record.id)
        self._sequence.add(live)
        self._publish_next()
        return None

    def _publish_next(self) -> None:
        """Publish the next items. No await: feed, seq and block must change together for a client that joins."""
        while True:
            try:
                new = self._sequence.next()
            except (msgspec.MsgspecError, RecursionError):
                log.warning("malformed live message of session %s", self.record.id)
                continue
            if new is None:
                break
            self._update_partial(new.items)
            self.feed.publish([new.joined])
        if self._sequence.lost or self._sequence.missing:
            self._ask_now.set()

    def _update_partial(self, items: Iterable[Item]) -> None:
        """Update the block in progress, as the owner does."""
        for one in items:
            if one.kind == "live":
                self.partial.take(bytes(one.data))
            elif one.kind == "ended":
                self.partial.end()
            elif one.kind == "frame":
                line = _read_line(one.data)
                if line.type == "assistant":
                    self.partial.finish_block(line.parent_tool_use_id)
                elif line.type == "result" and not line.parent_tool_use_id:
                    self.partial.end()

    # Requests to the owner

    async def _follow(self) -> None:
        failed = 0 if self.live else 1
        while not self._closed:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(self._renew, RETRY_SECONDS * 2**failed) if failed else self._renew):
                    await self._ask_now.wait()
            self._ask_now.clear()
            failed = 0 if await self._answered() else min(failed + 1, 10)

    async def reach(self, seq: int) -> None:
        """Ask the owner for events up to this seq: a client may have seen them on a machine that is ahead of us."""
        if seq > self.seq:
            await self._answered(seq)

    async def _answered(self, until: float = math.inf) -> bool:
        """Ask the owner, unless events up to a seq arrive before. Returns whether it answered."""
        try:
            async with self._asking:
                if until > self.seq:
                    await self._catch_up()
        except (BridgeError, NatsError, OSError) as error:
            log.info("session %s: %s", self.record.id, error)
            return False
        return self.live

    async def _catch_up(self) -> None:
        """Ask the owner for its position and catch up. Raises BridgeError if it is unreachable."""
        for _ in range(TRIES):
            self._sequence.expect_answer()
            reply = await self._request(Ask(self._sequence.life, self._sequence.count))
            if reply is None:
                return await self._serve_log()
            answer = _read(read_answer, reply)
            if answer.life != self._sequence.life and answer.seq < self.seq and not await self._rewound(answer.seq):
                await asyncio.sleep(PAUSE)
                continue
            if self._sequence.apply_answer(answer):
                await self._move_to(answer)
            elif self._sequence.missing:
                await self._publish_missing()
            self._publish_next()
            if not self._sequence.lost:
                return None
        return None

    async def _serve_log(self) -> None:
        """No machine runs the session: serve the log."""
        self._sequence.lose_owner()
        self.partial.end()
        self._sequence.require((await self._log.bounds(self.record.id)).last)
        await self._publish_missing()
        self._publish_next()

    async def _rewound(self, seq: int) -> bool:
        """Step back if events that we passed on were lost with their machine. Returns whether they were."""
        if (await self._log.bounds(self.record.id)).last >= self.seq:
            return False
        log.warning("session %s: events %d to %d were lost with their machine", self.record.id, seq + 1, self.seq)
        self._sequence.rewind(seq)
        self.feed.cut("the newest events were lost with their machine")
        return True

    async def _move_to(self, answer: Answer) -> None:
        """Continue at the position of the owner: messages were lost, or the owner changed."""
        self.partial.end()
        if answer.so_far or not self.feed.followers:
            self._skip_missing()
            for raw in answer.so_far:
                self.partial.take(raw)
        else:  # the lost parts belong to blocks that are complete by now
            await self._publish_missing()

    def _skip_missing(self) -> None:
        """Followers missed parts that cannot be repeated: they subscribe again and get the block so far."""
        self._sequence.mark_read(self._sequence.missing)
        self.feed.cut("messages of another machine were lost")

    async def _publish_missing(self) -> None:
        """Publish the missing events from the log."""
        for _ in range(MOST_PAGES):
            if not (until := self._sequence.missing):
                return
            if not self.feed.followers:
                break
            found = await self.read(self.seq, most_bytes=PAGE)
            page = [one for one in found if self.seq < one.seq <= until]
            self.feed.publish([item(one) for one in page])
            self._sequence.mark_read(page[-1].seq if page else until)  # none left: they were deleted
        if self._sequence.missing:
            self._skip_missing()

    # Reading

    async def read(self, after: int, *, most_bytes: int = 2**20) -> list[Event]:
        """Events after a seq; those not published yet are requested from the owner. Raises BridgeError."""
        found = await self._log.read(self.record.id, after, most_bytes=most_bytes)
        if found or after >= max(self.seq, self._sequence.missing):
            return found
        reply = await self._request(Ask(after=after, most_bytes=most_bytes))
        if reply is None:
            if (await self._log.bounds(self.record.id)).last > after:
                return []  # they were deleted
            raise ClusterAway(
                f"the newest events of session {self.record.id} exist only on {self.record.runner}, which is offline"
            )
        page = _read(read_page, reply)
        if page.problem:
            raise ClusterAway(f"{self.record.runner or 'its owner'}: {page.problem}")
        return list(page.events)

    async def _request(self, ask: Ask) -> bytes | None:
        """The response of the owner; None if no machine runs the session. Raises ClusterAway."""
        try:
            reply = await self._nats.request(follow_subject(self.record.id), encode(ask), timeout=ANSWER_WITHIN)
        except NoRespondersError:
            return None
        except (NatsError, OSError) as error:
            raise self._away(error) from error
        return reply.data

    def _away(self, error: Exception) -> ClusterAway:
        return ClusterAway(f"session {self.record.id} cannot be followed: {str(error) or type(error).__name__}")


def _read_line(data: msgspec.Raw) -> _Line:
    try:
        return _line(data)
    except (msgspec.MsgspecError, RecursionError):
        return _Line()


def _read(read: Callable[[bytes], Any], data: bytes) -> Any:
    try:
        return read(data)
    except msgspec.MsgspecError as error:
        raise ClusterAway(f"malformed answer; the other machine may run another version: {error}") from None


class Remotes:
    """The remote sessions that clients follow here, by id; opened on demand."""

    def __init__(
        self, nats: Client, log: EventLog, index: SessionIndex, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._nats, self._log, self._index, self._clock = nats, log, index, clock
        self._open: dict[str, RemoteSession] = {}
        self._opening: dict[str, asyncio.Task[RemoteSession]] = {}

    async def get(self, id: str) -> RemoteSession:
        """Follow a session. Raises CommandRefused if it does not exist."""
        if (known := self._open.get(id)) is not None:
            known.touched = self._clock()
            return known
        task = self._opening.get(id)
        if task is None:
            task = self._opening[id] = asyncio.create_task(self._follow(id), name="handrail following")
            task.add_done_callback(lambda _: self._opening.pop(id, None))
        return await asyncio.shield(task)

    async def _follow(self, id: str) -> RemoteSession:
        record = await self._index.get(id)
        if record is None:
            raise CommandRefused("not_found", f"session {id} not found")
        remote = RemoteSession(self._nats, self._log, record)
        remote.touched = self._clock()
        await remote.open()
        self._open[id] = remote
        return remote

    def changed(self, record: SessionRecord) -> None:
        """Called when a record changed, possibly with a new owner."""
        if (remote := self._open.get(record.id)) is not None:
            remote.changed(record)

    def ask_owners(self) -> None:
        """Called after a reconnect: messages sent during the outage were lost."""
        for remote in self._open.values():
            remote.ask_owner()

    async def drop(self, id: str, why: str) -> None:
        """Close a remote session; its clients subscribe again."""
        if (remote := self._open.pop(id, None)) is not None:
            remote.feed.cut(why)
            await remote.close()

    async def sweep(self) -> None:
        """Close sessions without followers."""
        now = self._clock()
        unused = [id for id, one in self._open.items() if not one.feed.followers and now - one.touched >= KEPT_SECONDS]
        for id in unused:
            await self._open.pop(id).close()

    async def close(self) -> None:
        """Close all sessions."""
        for task in list(self._opening.values()):
            task.cancel()
        await asyncio.gather(*self._opening.values(), return_exceptions=True)
        for remote in self._open.values():
            await remote.close()
        self._open.clear()
