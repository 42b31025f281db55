"""Reads and checks the events stored in JetStream.

It decodes the messages directly and shares no code with the program that wrote them.
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
    """The content of the stream, and its faults."""

    events: dict[str, list[Event]]
    owners: Counter[str]
    faults: list[str]


async def read_stream(js: JetStreamContext) -> list[Message]:
    """All messages, in order."""
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
    """The seq of a session's last event in the stream."""
    message = await js.get_last_msg(STREAM, f"handrail.events.{session}")
    _, _, start, entries, _ = msgspec.msgpack.decode(message.data or b"")
    return start + len(entries) - 1


def record_of(messages: Iterable[Message]) -> Record:
    """Collect the events of each session; gaps, duplicates and writes by old owners are faults."""
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
                record.faults.append(f"fenced: {message.session}: {epoch} wrote before it announced itself")
            epochs[message.session] = epoch
        if entries and start != len(events) + 1:
            record.faults.append(f"in order: {message.session}: {start} follows {len(events)}")
        events += [Event(seq, kind, json.loads(data)) for seq, (_, kind, data, *_) in enumerate(entries, start)]
    record.faults.extend(f"in order: {id} is in the stream {count} times" for id, count in ids.items() if count > 1)
    return record


def same_receipts(notes: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Faults for commands whose receipts differ between clients or gateways."""
    receipts: dict[str, Any] = {}
    heard = [note for seen in notes.values() for note in seen if "receipt" in note]
    return [
        f"once: command {note['receipt']} has two receipts at two gateways"
        for note in heard
        if receipts.setdefault(note["receipt"], note["answer"]) != note["answer"]
    ]
