"""Batches of events in the JetStream stream that all sessions of all machines share.

A message holds one batch: consecutive events of one session. The stream sequences of a session's messages have gaps, so
the session's own event numbers are part of the message. The caller numbers the events and names the message that its
batch must follow. JetStream checks that with `Nats-Expected-Last-Subject-Sequence`, so a machine that lost a session
cannot append to it. Batches of several sessions can be stored in one atomic commit, which is refused as a whole if one
of them is outdated.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import Final, cast

import msgspec
from msgspec import MsgspecError, Struct
from nats.js import JetStreamContext
from nats.js.errors import APIError

from handrail.bridge.cluster.nats import names
from handrail.bridge.cluster.nats.failures import conflicts, is_missing, translate_errors
from handrail.bridge.cluster.store.layout import LARGEST_MESSAGE
from handrail.bridge.cluster.store.stream_reader import StreamReader, connection_of, timeout_of
from handrail.bridge.errors import ClusterAway, Fenced, StoreFailed
from handrail.bridge.store.base import Event, Receipt

__all__ = [
    "Batch",
    "Entry",
    "Newest",
    "PositionCache",
    "SessionStream",
    "Unsettled",
    "batches",
    "covered_through",
    "decode",
    "encode",
    "message_id",
]

log = logging.getLogger("handrail.bridge")
MOST_EVENTS: Final = 500
MOST_BYTES: Final = 512 * 1024
"""Limits of one batch. A single event may be larger than MOST_BYTES and then travels alone."""
NEAR: Final = 1000
"""Reading this many events too early is cheaper than another round trip of the binary search."""
MOST_SESSIONS: Final = 500
MOST_POSITIONS: Final = 64
"""Limits of the position cache, the second one per session."""
_HEADER_ROOM: Final = 4096
"""Bytes reserved for the headers of a message."""
_READ_TIMEOUT: Final = 5.0
_ID: Final = "Nats-Msg-Id"
_EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"
_COMMIT_ID: Final = "Nats-Batch-Id"
_COMMIT_SEQUENCE: Final = "Nats-Batch-Sequence"
_COMMIT: Final = "Nats-Batch-Commit"
_NOT_ATOMIC: Final = 10174
"""Error code: the stream does not allow atomic commits."""


# The message format


class Entry(Struct, frozen=True, array_like=True):
    """One event with its searchable text. Its number follows from its position in the batch."""

    time: int
    kind: str
    data: bytes
    text: str = ""


class Batch(Struct, frozen=True, array_like=True, kw_only=True):
    """Events appended together: stored as a whole or not at all.

    epoch     epoch of the owner that wrote it; every new owner has a higher one and starts with an empty batch
    first     lowest event number the session retains; older events were deleted
    start     number of the first entry; in an empty batch, number of the next event to be written
    entries   the events
    receipts  answers of the commands that caused these events
    """

    epoch: int
    first: int
    start: int
    entries: tuple[Entry, ...] = ()
    receipts: tuple[Receipt, ...] = ()

    @property
    def last(self) -> int:
        """Number of the session's newest event, in this batch or before it."""
        return self.start + len(self.entries) - 1

    def events(self, after: int = 0) -> list[Event]:
        """The retained events with a number above `after`."""
        lowest = max(self.first, after + 1)
        numbered = enumerate(self.entries, self.start)
        return [Event(seq, one.time, one.kind, one.data) for seq, one in numbered if seq >= lowest]


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Batch)


def encode(batch: Batch) -> bytes:
    return _encoder.encode(batch)


def decode(data: bytes) -> Batch:
    """Raises msgspec.MsgspecError for anything but a batch. Unknown trailing fields are ignored."""
    return _decoder.decode(data)


def batches(entries: Sequence[Entry], start: int) -> list[tuple[int, tuple[Entry, ...]]]:
    """Split entries into as few pieces as the limits allow, each with the number of its first entry."""
    pieces: list[tuple[int, tuple[Entry, ...]]] = []
    taken: list[Entry] = []
    size, number = 0, start
    for entry in entries:
        weight = len(entry.data) + len(entry.text)
        if taken and (len(taken) >= MOST_EVENTS or size + weight > MOST_BYTES):
            pieces.append((number, tuple(taken)))
            number, taken, size = number + len(taken), [], 0
        taken.append(entry)
        size += weight
    return [*pieces, (number, tuple(taken))] if taken else pieces


# The stream


class Newest(Struct, frozen=True):
    """The last message of a session. `place` is its stream sequence, `id` its Nats-Msg-Id."""

    place: int
    batch: Batch
    id: str = ""


class Unsettled(ClusterAway):
    """A batch was rejected although the stream has no newer message of the session.

    Either another publish is still being stored (perhaps the first attempt of the same batch), or the server that
    answered lacks messages: `place` is then lower than expected. A server that still lacks them after some seconds has
    lost them.
    """

    def __init__(self, session: str, place: int) -> None:
        self.session, self.place = session, place
        super().__init__(f"{names.EVENTS}: the last message of session {session} is not settled yet")


class _Stored(Struct, frozen=True):
    """A raw message of the stream."""

    place: int
    data: bytes
    id: str


def message_id(session: str, batch: Batch) -> str:
    """The Nats-Msg-Id by which JetStream drops a repeated publish.

    Empty batches of one epoch share their numbers, so a digest of the content is added to theirs.
    """
    name = f"{names.token(session)}:{batch.epoch}:{batch.start}:{batch.last}"
    return name if batch.entries else f"{name}:{hashlib.sha256(encode(batch)).hexdigest()[:16]}"


def covered_through(batch: Batch) -> int:
    """The highest event number whose reader needs this batch; an empty batch answers for the next event."""
    return max(batch.last, batch.start)


class PositionCache:
    """Recently seen positions: which stream sequence covers a session through which event number. Pure.

    JetStream finds a message by its stream sequence, never by the session's event number. A reader that resumes in the
    middle of a session starts its search from here.
    """

    def __init__(self) -> None:
        self._seen: OrderedDict[str, list[tuple[int, int]]] = OrderedDict()

    def note(self, session: str, batch: Batch, place: int) -> None:
        """Remember a position. Above the limit, every other position of the session is dropped."""
        seen = self._seen.setdefault(session, [])
        self._seen.move_to_end(session)
        if (pair := (covered_through(batch), place)) not in seen:
            insort(seen, pair)
        if len(seen) > MOST_POSITIONS:
            del seen[1::2]
        if len(self._seen) > MOST_SESSIONS:
            self._seen.popitem(last=False)

    def before(self, session: str, number: int) -> tuple[int, int] | None:
        """The last known message that ends below `number`: the number it covers, and its stream sequence."""
        seen = self._seen.get(session, [])
        at = bisect_left(seen, (number, 0))
        return seen[at - 1] if at else None

    def forget(self, session: str) -> None:
        """Drop positions that turned out to be wrong."""
        self._seen.pop(session, None)


class _Refusal(Struct):
    err_code: int = 0
    description: str = ""


class _CommitAnswer(Struct):
    """JetStream's answer to an atomic commit. `batch` and `count` are missing if the server stored it otherwise."""

    seq: int = 0
    batch: str = ""
    count: int = 0
    error: _Refusal | None = None


_decode_answer: Final = msgspec.json.Decoder(_CommitAnswer).decode


class SessionStream:
    """Reads and writes the batches of all sessions."""

    def __init__(self, js: JetStreamContext) -> None:
        self._js = js
        self._positions = PositionCache()
        self._atomic = True
        """False once the server turned out not to support atomic commits (nats-server before 2.12)."""
        self._writer, self._commits = token_hex(4), count(1)

    async def newest(self, session: str) -> Newest | None:
        """The last message of a session, read from the leader of the stream."""
        stored = await self._last(session)
        return None if stored is None else _newest(stored)

    async def publish(self, session: str, batch: Batch, *, expected: int) -> int:
        """Store a batch directly after the message at `expected` (0: as the first); return its stream sequence.

        Returns when the batch is durable. A batch whose answer was lost may be published again. Raises Fenced if
        another message follows `expected`, and ClusterAway (or its subclass Unsettled) if the outcome is unknown.
        """
        return await self.publish_as(session, batch, expected, message_id(session, batch))

    async def publish_as(self, session: str, batch: Batch, expected: int, id: str) -> int:
        """`publish` with a message id chosen by the caller, for writers that compete for the same numbers."""
        place = await self._store(session, self._encoded(batch), expected, id)
        self._positions.note(session, batch, place)
        for one in batch.receipts:
            await self._store_receipt(one)
        return place

    def _encoded(self, batch: Batch) -> bytes:
        data = encode(batch)
        if len(data) > (most := min(connection_of(self._js).max_payload, LARGEST_MESSAGE) - _HEADER_ROOM):
            raise StoreFailed(Path(names.EVENTS), f"batch of {len(data)} bytes exceeds {most} bytes", lasting=True)
        return data

    async def publish_together(self, items: Sequence[tuple[str, Batch, int]]) -> list[int]:
        """Store batches of different sessions, without receipts, in one commit; return their stream sequences.

        Each item is a session, its batch and the sequence that `publish` calls `expected`. If this raises, any of them
        may have been stored: the caller publishes each again, which stores none twice and finds the outdated ones.
        """
        if len(items) == 1 or not self._atomic:
            singly = [self.publish(session, batch, expected=expected) for session, batch, expected in items]
            found = await asyncio.gather(*singly, return_exceptions=True)
            if errors := [one for one in found if isinstance(one, BaseException)]:
                raise errors[0]
            return cast("list[int]", found)
        messages = [(session, self._encoded(batch), batch, expected) for session, batch, expected in items]
        places = await self._commit(
            [
                (names.events_subject(session), data, {_ID: message_id(session, batch), _EXPECTED: str(expected)})
                for session, data, batch, expected in messages
            ]
        )
        for (session, batch, _), place in zip(items, places, strict=True):
            self._positions.note(session, batch, place)
        return places

    async def _commit(self, messages: list[tuple[str, bytes, dict[str, str]]]) -> list[int]:
        """Store messages atomically; they get consecutive sequences. Raises ClusterAway if they were refused."""
        connection, id = connection_of(self._js), f"{self._writer}{next(self._commits):x}"
        for number, (_, _, headers) in enumerate(messages, 1):
            headers |= {_COMMIT_ID: id, _COMMIT_SEQUENCE: str(number)}
        *rest, (subject, data, headers) = messages
        with translate_errors(names.EVENTS):
            for message in rest:
                await connection.publish(message[0], message[1], headers=message[2])
            last = {**headers, _COMMIT: "1"}
            raw = await connection.request(subject, data, timeout=timeout_of(self._js), headers=last)
        answer = _decode_answer(raw.data)
        if answer.error is not None and answer.error.err_code != _NOT_ATOMIC:
            raise ClusterAway(f"{names.EVENTS}: {answer.error.description}")
        if answer.error is not None or (answer.batch, answer.count) != (id, len(messages)):
            log.warning("NATS does not support atomic commits; each session is published by itself. Use 2.12 or newer")
            self._atomic = False
            raise ClusterAway(f"{names.EVENTS}: atomic commits are not supported")
        return list(range(answer.seq - len(messages) + 1, answer.seq + 1))

    async def _store(self, session: str, data: bytes, expected: int, id: str) -> int:
        with translate_errors(names.EVENTS):
            try:
                headers = {_ID: id, _EXPECTED: str(expected)}
                ack = await self._js.publish(names.events_subject(session), data, headers=headers)
            except APIError as error:
                if not conflicts(error):
                    raise
                there = await self._last(session)
                if there is None or there.place <= expected:
                    raise Unsettled(session, there.place if there else 0) from None
            else:
                if not ack.duplicate:
                    return ack.seq
                there = await self._stored(seq=ack.seq)
        if there is None:
            # JetStream keeps the id for the whole duplicate window, even if the message was deleted since.
            return await self._store(session, data, expected, f"{id}+")
        # Equal content: this batch was stored earlier and only the answer was lost. Otherwise another machine wrote.
        if (there.id.rstrip("+"), there.data) != (id.rstrip("+"), data):
            raise Fenced(session)
        return there.place

    async def _last(self, session: str) -> _Stored | None:
        return await self._stored(subject=names.events_subject(session))

    async def _stored(self, *, seq: int | None = None, subject: str | None = None) -> _Stored | None:
        """A message by sequence, the last one of a subject, or the first one of a subject from a sequence on.

        The leader answers; a direct get could be answered by a replica that lags behind.
        """
        with translate_errors(names.EVENTS):
            try:
                both = seq is not None and subject is not None
                raw = await self._js.get_msg(names.EVENTS, seq, subject, next=both)
            except APIError as error:
                if is_missing(error):
                    return None
                raise
        headers = cast("dict[str, str] | None", raw.headers)  # pyright: ignore[reportUnknownMemberType]
        return _Stored(raw.seq or 0, raw.data or b"", (headers or {}).get(_ID, ""))

    async def _store_receipt(self, receipt: Receipt) -> None:
        """Store a receipt unless the command already has one: expecting sequence 0 lets only the first pass."""
        with translate_errors(names.RECEIPTS):
            try:
                subject = names.receipt_subject(receipt.command)
                await self._js.publish(subject, receipt.answer, headers={_EXPECTED: "0"})
            except APIError as error:
                if not conflicts(error):
                    raise

    async def extent(self) -> tuple[str, int]:
        """Creation time and last sequence of the stream. A recreated or truncated stream shows in one of them."""
        with translate_errors(names.EVENTS):
            info = await self._js.stream_info(names.EVENTS)
        return str(info.created), info.state.last_seq

    async def batches(self, session: str, after: int = 0) -> AsyncGenerator[tuple[int, Batch]]:
        """Batches with their stream sequences: from the one with event `after + 1` through the newest one now.

        Empty batches at that number are included. Wrap it in `aclosing` if it may not be read to its end.
        """
        newest = await self.newest(session)
        if newest is not None:
            async with aclosing(self.through(session, after, newest)) as batches:
                async for one in batches:
                    yield one

    async def through(self, session: str, after: int, newest: Newest) -> AsyncGenerator[tuple[int, Batch]]:
        """`batches` for a caller that has read the newest message already."""
        number = max(after + 1, newest.batch.first)
        if newest.batch.start < number:
            if covered_through(newest.batch) >= number:
                yield newest.place, newest.batch
            return
        from_cache = True
        while True:
            begin = await self._before(session, number, newest, near=NEAR)
            gap = False
            async with aclosing(self._from(session, begin, newest.place)) as found:
                async for place, batch in found:
                    if covered_through(batch) < number:
                        continue
                    if gap := batch.start > number and not await self._was_deleted(session, batch.start):
                        break
                    number = max(number, batch.last + 1)
                    yield place, batch
            if not gap:
                return
            # The cached positions may belong to a stream that was recreated since: search once more without them.
            if not from_cache:
                raise StoreFailed(Path(names.EVENTS), f"events of session {session} are missing from {number} on")
            from_cache = False
            self._positions.forget(session)

    async def _from(self, session: str, after: int, end: int) -> AsyncGenerator[tuple[int, Batch]]:
        """The batches with a stream sequence above `after`, through `end`."""
        subject = names.events_subject(session)
        async with StreamReader(self._js, names.EVENTS, subject, after=after, timeout=_READ_TIMEOUT) as messages:
            async for message in messages:
                batch = _decoded(message.data)
                self._positions.note(session, batch, message.place)
                yield message.place, batch
                if message.place >= end:
                    return

    async def _was_deleted(self, session: str, number: int) -> bool:
        """Whether the events below `number` were deleted on purpose."""
        newest = await self.newest(session)
        return newest is None or newest.batch.first >= number

    async def _before(self, session: str, number: int, newest: Newest, *, near: int) -> int:
        """A stream sequence after which event `number` follows, with at most `near` other events in between.

        A binary search over stream sequences; each step asks for the session's first message from a sequence on.
        """
        held, place = self._positions.before(session, number) or (0, 0)
        if place >= newest.place:
            self._positions.forget(session)
            held, place = 0, 0
        held, end = max(held, newest.batch.first - 1) if near else held, newest.place
        while number - held > near and place + 1 < end:
            middle = (place + 1 + end) // 2
            stored = await self._stored(seq=middle, subject=names.events_subject(session))
            found = None if stored is None else _newest(stored)
            if found is None or found.place >= end or covered_through(found.batch) >= number:
                end = middle
                continue
            held, place = covered_through(found.batch), found.place
            self._positions.note(session, found.batch, place)
        return place

    async def purge(self, session: str) -> None:
        """Remove the messages that contain only deleted events."""
        newest = await self.newest(session)
        if newest is None or newest.batch.first <= 1:
            return
        place = newest.place - 1
        if newest.batch.first <= newest.batch.last:
            # A wrong cached position only slows a reader down; here it would purge events that are still retained.
            self._positions.forget(session)
            place = await self._before(session, newest.batch.first, newest, near=0)
        if place:
            with translate_errors(names.EVENTS):
                await self._js.purge_stream(names.EVENTS, seq=place + 1, subject=names.events_subject(session))


def _newest(stored: _Stored) -> Newest:
    return Newest(stored.place, _decoded(stored.data), stored.id)


def _decoded(data: bytes) -> Batch:
    try:
        return decode(data)
    except MsgspecError as error:
        raise StoreFailed(Path(names.EVENTS), f"a message is not a batch of events: {error}", lasting=True) from None
