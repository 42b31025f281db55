"""The inbox of a reader: in order, bounded in memory, never blocking."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail import InboxFull
from handrail.client.inbox import CHUNK, Inbox
from handrail.protocol import Message, encode_message


def message(number: int, *, size: int = 10, kind: str = "assistant") -> Message:
    return encode_message({"type": kind, "n": number, "text": "x" * size})


def messages(count: int, *, size: int = 10, kind: str = "assistant") -> list[Message]:
    return [message(number, size=size, kind=kind) for number in range(count)]


async def rest(inbox: Inbox) -> list[Message]:
    """Read everything to the end."""
    async with asyncio.timeout(5):
        found: list[Message] = []
        while (next_one := await inbox.get()) is not None:
            found.append(next_one)
        return found


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


async def test_messages_are_read_in_order_until_the_end():
    inbox, given = Inbox(), messages(3)
    inbox.put(given[:2])
    inbox.put(given[2:])
    inbox.end()
    assert await rest(inbox) == given
    assert await inbox.get() is None


async def test_waiting_reader_is_woken_by_a_message_and_by_the_end():
    inbox = Inbox()
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        first = group.create_task(inbox.get())
        await asyncio.sleep(0)
        inbox.put([message(1)])
        assert await first == message(1)
        second = group.create_task(inbox.get())
        await asyncio.sleep(0)
        inbox.end()
        assert await second is None


async def test_error_is_raised_after_the_remaining_messages():
    inbox = Inbox()
    inbox.put([message(1)])
    inbox.end(ConnectionError("gone"))
    inbox.end(ConnectionError("too late"))
    assert await inbox.get() == message(1)
    for _ in range(2):
        with pytest.raises(ConnectionError, match="gone"):
            await inbox.get()


async def test_messages_after_the_end_are_dropped():
    inbox = Inbox()
    inbox.end()
    inbox.put([message(1)])
    assert await inbox.get() is None


async def test_second_reader_of_an_inbox_is_an_error():
    inbox = Inbox()
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        first = group.create_task(inbox.get())
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="session.messages"):
            await inbox.get()
        inbox.put([message(1)])
        assert await first == message(1)


async def test_cancelled_reader_can_continue():
    inbox = Inbox()
    waiting = asyncio.create_task(inbox.get())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    inbox.put([message(1)])
    assert await inbox.get() == message(1)


async def test_overflow_is_spilled_to_an_unnamed_file_in_order():
    inbox, given = Inbox(limit=1000), messages(20_000, size=50)
    before = open_files()
    for some in given:
        inbox.put([some])
    assert len(inbox.queue) < 100
    assert open_files() == before + 1
    inbox.end()
    assert await rest(inbox) == given
    assert open_files() == before


async def test_message_larger_than_a_chunk_survives_spilling():
    inbox, given = Inbox(limit=1), messages(4, size=3 * CHUNK)
    for some in given:
        inbox.put([some])
    inbox.end()
    assert await rest(inbox) == given


async def test_spill_file_reads_and_writes_can_alternate():
    inbox, read = Inbox(limit=100), list[Message | None]()
    for number in range(200):
        inbox.put([message(number)])
        if number % 2:
            read.append(await inbox.get())
    inbox.end()
    assert [*read, *await rest(inbox)] == messages(200)


async def test_empty_spill_file_is_dropped():
    inbox = Inbox(limit=100)
    before = open_files()
    for number in range(10):
        inbox.put([message(number)])
    for number in range(10):
        assert await inbox.get() == message(number)
    inbox.put([message(10)])
    assert len(inbox.queue) == 1
    assert open_files() == before


async def test_drop_partials_drops_and_counts_stream_events():
    inbox = Inbox(limit=100, policy="drop_partials")
    inbox.put(messages(3, size=100, kind="stream_event"))
    inbox.put([message(1, kind="stream_event"), message(2), message(3, kind="stream_event"), message(4)])
    inbox.end()
    assert await rest(inbox) == [*messages(3, size=100, kind="stream_event"), message(2), message(4)]
    assert inbox.dropped == 2


async def test_partials_resume_after_catching_up():
    inbox = Inbox(limit=100, policy="drop_partials")
    inbox.put(messages(3, size=100, kind="stream_event"))
    for _ in range(3):
        await inbox.get()
    inbox.put([message(4, kind="stream_event")])
    assert await inbox.get() == message(4, kind="stream_event")
    assert inbox.dropped == 0


async def test_policy_fail_raises_with_advice():
    inbox = Inbox(limit=100, policy="fail")
    inbox.put(messages(2, size=100))
    inbox.put(messages(2))
    assert [await inbox.get(), await inbox.get()] == messages(2, size=100)
    with pytest.raises(InboxFull, match='more than 100 bytes were unread; .*policy="spill"') as caught:
        await inbox.get()
    assert caught.value.limit == 100


async def test_discard_releases_everything():
    inbox = Inbox(limit=100)
    before = open_files()
    for some in messages(10, size=CHUNK):
        inbox.put([some])
    inbox.discard()
    inbox.put([message(1)])
    assert await inbox.get() is None
    assert not inbox.queue
    assert open_files() == before


async def test_garbage_collected_inbox_closes_its_file():
    before = open_files()
    inbox = Inbox(limit=1)
    for some in messages(3, size=CHUNK):
        inbox.put([some])
    assert open_files() == before + 1
    del inbox
    assert open_files() == before


async def test_spill_file_is_unnamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    inbox = Inbox(limit=1)
    before = open_files()
    for some in messages(3, size=CHUNK):
        inbox.put([some])
    assert open_files() == before + 1
    assert os.listdir(tmp_path) == []
    inbox.discard()


async def test_full_disk_is_reported_after_the_stored_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    inbox, given = Inbox(limit=100), messages(4, size=CHUNK)
    for some in given:
        inbox.put([some])
    kept = [await inbox.get(), await inbox.get()]
    assert kept == given[:2]
    with pytest.raises(InboxFull, match="could not be spilled to disk .*No such file.*free disk space"):
        await inbox.get()


@given(
    sizes=st.lists(st.lists(st.integers(0, 400), max_size=6), max_size=20),
    limit=st.integers(1, 2000),
    reads=st.lists(st.integers(0, 8), max_size=20),
)
def test_spilling_preserves_all_messages_in_order(sizes: Sequence[Sequence[int]], limit: int, reads: Sequence[int]):
    async def run() -> None:
        inbox, put, got = Inbox(limit=limit), list[Message](), list[Message | None]()
        for turn, batch in enumerate(sizes):
            new = [message(len(put) + number, size=size) for number, size in enumerate(batch)]
            put += new
            inbox.put(new)
            for _ in range(min(reads[turn] if turn < len(reads) else 0, len(put) - len(got))):
                got.append(await inbox.get())
        inbox.end()
        assert [*got, *await rest(inbox)] == put

    asyncio.run(run())
