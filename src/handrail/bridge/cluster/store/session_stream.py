"""The events of sessions in NATS JetStream, as those write and read them who number them themselves.

In: batches, and after which message they come. Out: their places in the stream, and the same batches again.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Final, cast

from msgspec import MsgspecError, Struct
from nats.js import JetStreamContext
from nats.js.errors import APIError

from handrail.bridge.cluster import names
from handrail.bridge.cluster.failures import conflicts, in_our_words, is_missing
from handrail.bridge.cluster.store.batch import Batch, decode, encode
from handrail.bridge.cluster.store.layout import LARGEST_MESSAGE
from handrail.bridge.cluster.store.messages import Messages, connection_of
from handrail.bridge.cluster.store.places import Places, holds
from handrail.bridge.errors import ClusterAway, Fenced, StoreFailed
from handrail.bridge.store.base import Receipt

__all__ = ["Newest", "SessionStream", "Unsettled", "message_id"]

NEAR: Final = 1000
"""So many events before the one that is wanted are passed over sooner than a better place is looked for."""
_ROOM: Final = 4096
"""Bytes for the headers of a message."""
_PATIENCE: Final = 5.0
_ID: Final = "Nats-Msg-Id"
_EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"


class Newest(Struct, frozen=True):
    """The last message of a session: its number in the stream, what it holds, and what its writer called it."""

    place: int
    batch: Batch
    id: str = ""


class Unsettled(ClusterAway):
    """A batch was not taken, and yet nobody else has written: another is just being stored, perhaps the same one.

    Or the server does not have all yet, or no longer: then the last message stands at a lower `place` than was
    expected. What lasts for more than some seconds was lost.
    """

    def __init__(self, session: str, place: int) -> None:
        self.session, self.place = session, place
        super().__init__(f"{names.EVENTS}: it is not settled yet what comes next in session {session}")


class _Stored(Struct, frozen=True):
    """A message as it lies in the stream."""

    place: int
    data: bytes
    id: str


def message_id(session: str, batch: Batch) -> str:
    """What a batch is called: the same again is stored once. Empty ones are told apart by what else they say."""
    name = f"{names.token(session)}:{batch.epoch}:{batch.start}:{batch.last}"
    return name if batch.entries else f"{name}:{hashlib.sha256(encode(batch)).hexdigest()[:16]}"


class SessionStream:
    """Batches in the one stream that all machines share."""

    def __init__(self, js: JetStreamContext) -> None:
        self._js = js
        self._places = Places()

    async def newest(self, session: str) -> Newest | None:
        """The last message of a session, as the leader of the stream has it."""
        stored = await self._last(session)
        return None if stored is None else _newest(stored)

    async def publish(self, session: str, batch: Batch, *, expected: int) -> int:
        """Store a batch after the message at `expected` (0: as the first). Out: its place, once it is durable.

        The same batch may be published again where nobody knows whether it arrived. Fenced: there is another message
        after that one. ClusterAway: nobody answered, or it is `Unsettled`; it may be there, or come to be.
        """
        return await self.write(session, batch, expected, message_id(session, batch))

    async def write(self, session: str, batch: Batch, expected: int, id: str) -> int:
        """The same under another name, for those who do not number alone."""
        data = encode(batch)
        if len(data) > min(connection_of(self._js).max_payload, LARGEST_MESSAGE) - _ROOM:
            why = f"{len(data)} bytes are more than a message on NATS may have"
            raise StoreFailed(Path(names.EVENTS), why, lasting=True)
        place = await self._write(session, data, expected, id)
        self._places.note(session, batch, place)
        for one in batch.receipts:
            await self._keep(one)
        return place

    async def _write(self, session: str, data: bytes, expected: int, id: str) -> int:
        with in_our_words(names.EVENTS):
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
            # The server remembers its name, but it was removed since.
            return await self._write(session, data, expected, f"{id}+")
        # It was written before, and only the answer to it was lost; or it was another who wrote.
        if (there.id.rstrip("+"), there.data) != (id.rstrip("+"), data):
            raise Fenced(session)
        return there.place

    async def _last(self, session: str) -> _Stored | None:
        return await self._stored(subject=names.events_subject(session))

    async def _stored(self, *, seq: int | None = None, subject: str | None = None) -> _Stored | None:
        """A message: at a place, the last on a subject, or the first on it from a place on. Through the leader."""
        with in_our_words(names.EVENTS):
            try:
                both = seq is not None and subject is not None
                raw = await self._js.get_msg(names.EVENTS, seq, subject, next=both)
            except APIError as error:
                if is_missing(error):
                    return None
                raise
        headers = cast("dict[str, str] | None", raw.headers)  # pyright: ignore[reportUnknownMemberType]
        return _Stored(raw.seq or 0, raw.data or b"", (headers or {}).get(_ID, ""))

    async def _keep(self, receipt: Receipt) -> None:
        """The first one stays."""
        with in_our_words(names.RECEIPTS):
            try:
                subject = names.receipt_subject(receipt.command)
                await self._js.publish(subject, receipt.answer, headers={_EXPECTED: "0"})
            except APIError as error:
                if not conflicts(error):
                    raise

    async def extent(self) -> tuple[str, int]:
        """When the stream was made, and the place of its last message: one that has lost some shows it there."""
        with in_our_words(names.EVENTS):
            info = await self._js.stream_info(names.EVENTS)
        return str(info.created), info.state.last_seq

    async def batches(self, session: str, after: int = 0) -> AsyncGenerator[tuple[int, Batch]]:
        """Batches with their places, from the one with the event after a number through what is newest now.

        Empty ones at that number are among them. Close it (`aclosing`) where it is not read to its end.
        """
        newest = await self.newest(session)
        if newest is not None:
            async with aclosing(self.through(session, after, newest)) as batches:
                async for one in batches:
                    yield one

    async def through(self, session: str, after: int, newest: Newest) -> AsyncGenerator[tuple[int, Batch]]:
        """The same where it is known what is newest."""
        number = max(after + 1, newest.batch.first)
        if newest.batch.start < number:
            if holds(newest.batch) >= number:
                yield newest.place, newest.batch
            return
        guessed = True
        while True:
            begin = await self._before(session, number, newest, near=NEAR)
            gap = False
            async with aclosing(self._from(session, begin, newest.place)) as found:
                async for place, batch in found:
                    if holds(batch) < number:
                        continue
                    if gap := batch.start > number and not await self._given_up(session, batch.start):
                        break
                    number = max(number, batch.last + 1)
                    yield place, batch
            if not gap:
                return
            if not guessed:
                raise StoreFailed(Path(names.EVENTS), f"events of session {session} are missing from {number} on")
            guessed = False
            self._places.forget(session)

    async def _from(self, session: str, after: int, end: int) -> AsyncGenerator[tuple[int, Batch]]:
        """Every batch after a place, through another."""
        subject = names.events_subject(session)
        async with Messages(self._js, names.EVENTS, subject, after=after, patience=_PATIENCE) as messages:
            async for message in messages:
                batch = _decoded(message.data)
                self._places.note(session, batch, message.place)
                yield message.place, batch
                if message.place >= end:
                    return

    async def _given_up(self, session: str, number: int) -> bool:
        """Whether nothing below a number is there because nobody wants it any more."""
        newest = await self.newest(session)
        return newest is None or newest.batch.first >= number

    async def _before(self, session: str, number: int, newest: Newest, *, near: int) -> int:
        """A place after which a number comes, with at most `near` others in between."""
        held, place = self._places.before(session, number) or (0, 0)
        if place >= newest.place:
            self._places.forget(session)
            held, place = 0, 0
        held, end = max(held, newest.batch.first - 1) if near else held, newest.place
        while number - held > near and place + 1 < end:
            middle = (place + 1 + end) // 2
            stored = await self._stored(seq=middle, subject=names.events_subject(session))
            found = None if stored is None else _newest(stored)
            if found is None or found.place >= end or holds(found.batch) >= number:
                end = middle
                continue
            held, place = holds(found.batch), found.place
            self._places.note(session, found.batch, place)
        return place

    async def purge(self, session: str) -> None:
        """Remove the messages that hold nothing but what was given up."""
        newest = await self.newest(session)
        if newest is None or newest.batch.first <= 1:
            return
        place = newest.place - 1
        if newest.batch.first <= newest.batch.last:
            # What is remembered of the places may be wrong, which does no harm to whoever reads.
            self._places.forget(session)
            place = await self._before(session, newest.batch.first, newest, near=0)
        if place:
            with in_our_words(names.EVENTS):
                await self._js.purge_stream(names.EVENTS, seq=place + 1, subject=names.events_subject(session))


def _newest(stored: _Stored) -> Newest:
    return Newest(stored.place, _decoded(stored.data), stored.id)


def _decoded(data: bytes) -> Batch:
    try:
        return decode(data)
    except MsgspecError as error:
        raise StoreFailed(Path(names.EVENTS), f"a message holds no events: {error}", lasting=True) from None
