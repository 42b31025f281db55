"""A session of another machine, as clients here follow it. In: what its owner tells on NATS. Out: the same, in a feed.

Dialects take it for the session itself: it has a feed, a number, a record and the block under way. Every event with a
number comes once and in order, whatever is lost on the way; where pieces of a block were lost, clients begin anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import msgspec
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError

from handrail.bridge.cluster.following.live import Answer, Ask, encode, read_answer, read_live, read_page
from handrail.bridge.cluster.following.sequel import Item, Sequel
from handrail.bridge.cluster.nats.names import follow_subject, live_subject
from handrail.bridge.errors import BridgeError, ClusterAway
from handrail.bridge.session.events import item
from handrail.bridge.session.feed import Feed
from handrail.bridge.session.partial import Partial
from handrail.bridge.store.base import Event, EventLog, SessionRecord, State

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

__all__ = ["RemoteSession"]

log = logging.getLogger("handrail.bridge")
RENEW: Final = 15.0
"""Seconds between requests; the owner forgets us after three of them."""
ANSWER_WITHIN: Final = 2.0
TRY_AGAIN: Final = 0.25
"""Where nobody answered, so many seconds, then twice as many, and so on."""
PAUSE: Final = 0.1
TRIES: Final = 20
"""So often an owner is asked that has less than is on record: it has just begun, or will soon learn that it is none."""
PAGE: Final = 512 * 1024
MOST_PAGES: Final = 8
"""Who has missed more than these begins anew: a feed does not hold more."""


class _Line(msgspec.Struct):
    """What is looked at of a line of the CLI."""

    type: str = ""
    parent_tool_use_id: str | None = None


_line: Final = msgspec.json.Decoder(_Line).decode


class RemoteSession:
    """One session of another machine."""

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
        """When somebody last asked for it."""
        self._sequel = Sequel()
        self._again = asyncio.Event()
        self._live: Subscription | None = None
        self._following: asyncio.Task[None] | None = None
        self._over = False
        """A request to NATS that is answered as it is cancelled knows nothing of being cancelled."""

    @property
    def seq(self) -> int:
        """The number of the newest event that followers may have seen."""
        return self._sequel.seq

    @property
    def told(self) -> bool:
        """Is there an owner who tells what happens?"""
        return bool(self._sequel.life)

    def state(self) -> State:
        """How it stands."""
        return self.record.state

    def is_forgettable(self, after: float = 60.0) -> bool:
        """Does nobody look, and has nobody asked for it for so many seconds?"""
        return not self.feed.followers and self._clock() - self.touched >= after

    # The beginning and the end

    async def open(self) -> None:
        """Be where the owner is; where there is none, where the record ends. ClusterAway."""
        try:
            self._live = await self._nats.subscribe(live_subject(self.record.id), cb=self._heard)  # pyright: ignore[reportUnknownMemberType]
        except (NatsError, OSError) as error:
            raise self._away(error) from error
        try:
            await self._first_look()
        except BaseException:
            await self._unsubscribe()
            raise
        self._following = asyncio.create_task(self._follow(), name="handrail remote session")

    async def _first_look(self) -> None:
        try:
            await self._look()
        except ClusterAway:  # an owner that does not answer may be asked again; meanwhile there is what is on record
            await self._look_at_record()

    async def close(self, why: str = "the session is followed from here no more") -> None:
        """Follow no more; whoever looks has to begin anew."""
        self._over = True
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait([self._following])
        await self._unsubscribe()
        self.feed.cut(why)

    async def _unsubscribe(self) -> None:
        if self._live is not None:
            with contextlib.suppress(NatsError, OSError):
                await self._live.unsubscribe()

    # What others tell

    def changed(self, record: SessionRecord) -> None:
        """The index has another record of it."""
        before, self.record = self.record, record
        if not self.told or before.runner != record.runner:
            self.look_again()

    def look_again(self) -> None:
        """Ask the owner at once: the connection was lost, or there may be another."""
        self._again.set()

    async def _heard(self, message: Msg) -> None:
        """It never waits: so what was told before an answer is heard before it."""
        try:
            live = read_live(message.data)
        except msgspec.MsgspecError:
            return log.warning("what is told of session %s cannot be read", self.record.id)
        self._sequel.hear(live)
        self._tell()
        return None

    def _tell(self) -> None:
        """Tell what follows. Nobody may join between the feed, the number and the block."""
        while True:
            try:
                told = self._sequel.next()
            except (msgspec.MsgspecError, RecursionError):
                log.warning("what is told of session %s cannot be read", self.record.id)
                continue
            if told is None:
                break
            self._take(told.items)
            self.feed.publish([told.joined])
        if self._sequel.lost or self._sequel.missing:
            self._again.set()

    def _take(self, items: Iterable[Item]) -> None:
        """The block under way, as whoever runs the session sees it."""
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

    # Asking

    async def _follow(self) -> None:
        failed = 0 if self.told else 1
        while not self._over:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(self._renew, TRY_AGAIN * 2**failed) if failed else self._renew):
                    await self._again.wait()
            self._again.clear()
            failed = 0 if await self._is_told() else min(failed + 1, 10)

    async def _is_told(self) -> bool:
        """Ask. Out: whether somebody has answered."""
        try:
            await self._look()
        except (BridgeError, NatsError, OSError) as error:
            log.info("session %s: %s", self.record.id, error)
            return False
        return self.told

    async def _look(self) -> None:
        """Ask where the owner is, and go there. BridgeError where that cannot be known now."""
        for _ in range(TRIES):
            self._sequel.asking()
            reply = await self._request(Ask(self._sequel.life, self._sequel.count))
            if reply is None:
                return await self._look_at_record()
            answer = _read(read_answer, reply)
            if answer.life != self._sequel.life and answer.seq < self.seq and not await self._goes_back(answer.seq):
                await asyncio.sleep(PAUSE)
                continue
            if self._sequel.answered(answer):
                await self._go_to(answer)
            elif self._sequel.missing:
                await self._read_on()
            self._tell()
            if not self._sequel.lost:
                return None
        return None

    async def _look_at_record(self) -> None:
        """Nobody runs it."""
        self._sequel.gone()
        self.partial.end()
        self._sequel.reach((await self._log.bounds(self.record.id)).last)
        await self._read_on()
        self._tell()

    async def _goes_back(self, seq: int) -> bool:
        """Was something told that is on record nowhere: by a machine that has gone with it?"""
        if (await self._log.bounds(self.record.id)).last >= self.seq:
            return False
        log.warning("session %s: its owner knows nothing of events %d to %d", self.record.id, seq + 1, self.seq)
        self._sequel.go_back(seq)
        self.feed.cut("the newest events were lost with the machine that had them")
        return True

    async def _go_to(self, answer: Answer) -> None:
        """Something may have been missed, or there is another owner."""
        self.partial.end()
        if answer.so_far or not self.feed.followers:
            self._skip()
            for raw in answer.so_far:
                self.partial.take(raw)
        else:  # pieces that were missed belong to blocks that are whole by now
            await self._read_on()

    def _skip(self) -> None:
        """Followers have missed what cannot be told: they begin anew, with the block so far."""
        self._sequel.read(self._sequel.missing)
        self.feed.cut("something was lost on the way from another machine")

    async def _read_on(self) -> None:
        """Tell from the record what is missing."""
        for _ in range(MOST_PAGES):
            if not (until := self._sequel.missing):
                return
            if not self.feed.followers:
                break
            found = await self.read(self.seq, most_bytes=PAGE)
            page = [one for one in found if self.seq < one.seq <= until]
            self.feed.publish([item(one) for one in page])
            self._sequel.read(page[-1].seq if page else until)  # none: they were given up
        if self._sequel.missing:
            self._skip()

    # Reading

    async def read(self, after: int, *, most_bytes: int = 2**20) -> list[Event]:
        """What is on record after a number. What only the owner has yet is asked of it. BridgeError."""
        found = await self._log.read(self.record.id, after, most_bytes=most_bytes)
        if found or after >= max(self.seq, self._sequel.missing):
            return found
        reply = await self._request(Ask(after=after, most_bytes=most_bytes))
        if reply is None:
            if (await self._log.bounds(self.record.id)).last > after:
                return []  # they were given up
            raise ClusterAway(
                f"the newest events of session {self.record.id} are on {self.record.runner} alone, which is away"
            )
        page = _read(read_page, reply)
        if page.problem:
            raise ClusterAway(f"{self.record.runner or 'its owner'}: {page.problem}")
        return list(page.events)

    async def _request(self, ask: Ask) -> bytes | None:
        """What the owner answers; None where nobody runs the session. ClusterAway where that is not known."""
        try:
            reply = await self._nats.request(follow_subject(self.record.id), encode(ask), timeout=ANSWER_WITHIN)
        except NoRespondersError:
            return None
        except (NatsError, OSError) as error:
            raise self._away(error) from error
        return reply.data

    def _away(self, error: Exception) -> ClusterAway:
        return ClusterAway(f"session {self.record.id} cannot be followed now: {str(error) or type(error).__name__}")


def _read_line(data: msgspec.Raw) -> _Line:
    try:
        return _line(data)
    except (msgspec.MsgspecError, RecursionError):
        return _Line()


def _read(read: Callable[[bytes], Any], data: bytes) -> Any:
    try:
        return read(data)
    except msgspec.MsgspecError as error:
        raise ClusterAway(f"an answer cannot be read, is its machine of another version? {error}") from None
