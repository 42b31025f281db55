"""What JetStream has on record. In: a connection. Out: events by session, and what is wrong with them, in words.

It reads the messages by itself, as lists, and knows nothing of the program that wrote them.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
from nats.js import JetStreamContext

from tests.faults.checker import Event

__all__ = ["Message", "Record", "last_of", "read_stream", "record_of", "same_receipts"]

STREAM, SUBJECTS = "handrail-events", "handrail.events.*"
PATIENCE = 60.0


class Message(NamedTuple):
    """One message of the stream."""

    session: str
    id: str
    body: list[Any]
    """The owner's epoch, the lowest number, the number of the first entry, entries, receipts."""


class Record(NamedTuple):
    """What is in the stream, and what is wrong with that."""

    events: dict[str, list[Event]]
    owners: Counter[str]
    faults: list[str]


async def read_stream(js: JetStreamContext) -> list[Message]:
    """All messages, in their order."""
    last = (await js.stream_info(STREAM)).state.last_seq
    found: list[Message] = []
    if not last:
        return found
    reading = await js.subscribe(SUBJECTS, stream=STREAM, ordered_consumer=True)
    async with asyncio.timeout(PATIENCE):
        while True:
            message = await reading.next_msg(PATIENCE)
            id = (message.headers or {}).get("Nats-Msg-Id", "")
            body = msgspec.msgpack.decode(message.data)
            found.append(Message(message.subject.rpartition(".")[2], id, body))
            if message.metadata.sequence.stream >= last:
                break
    await reading.unsubscribe()
    return found


async def last_of(js: JetStreamContext, session: str) -> int:
    """The number of a session's newest event in the stream."""
    message = await js.get_last_msg(STREAM, f"handrail.events.{session}")
    _, _, start, entries, _ = msgspec.msgpack.decode(message.data or b"")
    return start + len(entries) - 1


def record_of(messages: Iterable[Message]) -> Record:
    """The events of each session: numbered without a gap, each once, under one owner after the other. Pure."""
    record = Record({}, Counter(), [])
    epochs: dict[str, int] = {}
    ids: Counter[str] = Counter()
    for message in messages:
        if message.session == "_":
            continue
        epoch, _, start, entries, _ = message.body
        events = record.events.setdefault(message.session, [])
        ids[message.id] += bool(message.id)
        if epoch != epochs.get(message.session, 0):
            record.owners[message.session] += 1
            if epoch < epochs.get(message.session, 0):
                record.faults.append(f"fenced: {message.session}: {epoch} wrote after {epochs[message.session]}")
            elif entries:
                record.faults.append(f"fenced: {message.session}: {epoch} wrote before it had said that it is there")
            epochs[message.session] = epoch
        if entries and start != len(events) + 1:
            record.faults.append(f"in order: {message.session}: {start} follows {len(events)}")
        events += [Event(seq, kind, json.loads(data)) for seq, (_, kind, data, *_) in enumerate(entries, start)]
    record.faults.extend(f"in order: {id} is in the stream {count} times" for id, count in ids.items() if count > 1)
    return record


def same_receipts(notes: dict[str, list[dict[str, Any]]]) -> list[str]:
    """A command has one receipt, whoever asked for it, and where. Pure."""
    receipts: dict[str, Any] = {}
    heard = [note for seen in notes.values() for note in seen if "receipt" in note]
    return [
        f"once: command {note['receipt']} has two receipts at two gateways"
        for note in heard
        if receipts.setdefault(note["receipt"], note["answer"]) != note["answer"]
    ]
