"""What one reader has not read yet: in order, bounded in memory, and never holding anybody up."""

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
    """All that is left, to the end."""
    async with asyncio.timeout(5):
        found: list[Message] = []
        while (next_one := await inbox.get()) is not None:
            found.append(next_one)
        return found


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


async def test_messages_come_out_in_order_then_the_end():
    inbox, given = Inbox(), messages(3)
    inbox.put(given[:2])
    inbox.put(given[2:])
    inbox.end()
    assert await rest(inbox) == given
    assert await inbox.get() is None


async def test_a_reader_that_waits_is_woken_by_a_message_and_by_the_end():
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


async def test_an_error_comes_after_everything_that_arrived():
    inbox = Inbox()
    inbox.put([message(1)])
    inbox.end(ConnectionError("gone"))
    inbox.end(ConnectionError("too late"))
    assert await inbox.get() == message(1)
    for _ in range(2):
        with pytest.raises(ConnectionError, match="gone"):
            await inbox.get()


async def test_after_the_end_nothing_is_taken():
    inbox = Inbox()
    inbox.end()
    inbox.put([message(1)])
    assert await inbox.get() is None


async def test_two_readers_of_one_inbox_are_told_instead_of_waiting_for_ever():
    inbox = Inbox()
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        first = group.create_task(inbox.get())
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="session.messages"):
            await inbox.get()
        inbox.put([message(1)])
        assert await first == message(1)


async def test_a_reader_that_was_cancelled_may_come_back():
    inbox = Inbox()
    waiting = asyncio.create_task(inbox.get())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    inbox.put([message(1)])
    assert await inbox.get() == message(1)


async def test_what_is_too_much_goes_to_a_file_without_a_name_and_comes_back_in_order():
    inbox, given = Inbox(limit=1000), messages(20_000, size=50)
    before = open_files()
    for some in given:
        inbox.put([some])
    assert len(inbox.queue) < 100
    assert open_files() == before + 1
    inbox.end()
    assert await rest(inbox) == given
    assert open_files() == before


async def test_a_message_larger_than_what_is_read_at_once_survives_the_file():
    inbox, given = Inbox(limit=1), messages(4, size=3 * CHUNK)
    for some in given:
        inbox.put([some])
    inbox.end()
    assert await rest(inbox) == given


async def test_reading_and_writing_the_file_may_alternate():
    inbox, read = Inbox(limit=100), list[Message | None]()
    for number in range(200):
        inbox.put([message(number)])
        if number % 2:
            read.append(await inbox.get())
    inbox.end()
    assert [*read, *await rest(inbox)] == messages(200)


async def test_once_the_file_is_empty_memory_is_used_again():
    inbox = Inbox(limit=100)
    before = open_files()
    for number in range(10):
        inbox.put([message(number)])
    for number in range(10):
        assert await inbox.get() == message(number)
    inbox.put([message(10)])
    assert len(inbox.queue) == 1
    assert open_files() == before


async def test_drop_partials_drops_stream_events_counts_them_and_keeps_the_rest():
    inbox = Inbox(limit=100, policy="drop_partials")
    inbox.put(messages(3, size=100, kind="stream_event"))
    inbox.put([message(1, kind="stream_event"), message(2), message(3, kind="stream_event"), message(4)])
    inbox.end()
    assert await rest(inbox) == [*messages(3, size=100, kind="stream_event"), message(2), message(4)]
    assert inbox.dropped == 2


async def test_a_reader_that_caught_up_gets_partials_again():
    inbox = Inbox(limit=100, policy="drop_partials")
    inbox.put(messages(3, size=100, kind="stream_event"))
    for _ in range(3):
        await inbox.get()
    inbox.put([message(4, kind="stream_event")])
    assert await inbox.get() == message(4, kind="stream_event")
    assert inbox.dropped == 0


async def test_fail_ends_with_an_error_that_says_what_to_do():
    inbox = Inbox(limit=100, policy="fail")
    inbox.put(messages(2, size=100))
    inbox.put(messages(2))
    assert [await inbox.get(), await inbox.get()] == messages(2, size=100)
    with pytest.raises(InboxFull, match='more than 100 bytes were unread; .*policy="spill"') as caught:
        await inbox.get()
    assert caught.value.limit == 100


async def test_a_reader_that_leaves_lets_go_of_everything():
    inbox = Inbox(limit=100)
    before = open_files()
    for some in messages(10, size=CHUNK):
        inbox.put([some])
    inbox.discard()
    inbox.put([message(1)])
    assert await inbox.get() is None
    assert not inbox.queue
    assert open_files() == before


async def test_an_inbox_that_is_dropped_closes_its_file():
    before = open_files()
    inbox = Inbox(limit=1)
    for some in messages(3, size=CHUNK):
        inbox.put([some])
    assert open_files() == before + 1
    del inbox
    assert open_files() == before


async def test_the_file_has_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    inbox = Inbox(limit=1)
    before = open_files()
    for some in messages(3, size=CHUNK):
        inbox.put([some])
    assert open_files() == before + 1
    assert os.listdir(tmp_path) == []
    inbox.discard()


async def test_without_room_on_disk_what_came_is_read_and_then_the_reader_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    inbox, given = Inbox(limit=100), messages(4, size=CHUNK)
    for some in given:
        inbox.put([some])
    kept = [await inbox.get(), await inbox.get()]
    assert kept == given[:2]
    with pytest.raises(InboxFull, match="no room on disk .*No such file.*make room"):
        await inbox.get()


@given(
    sizes=st.lists(st.lists(st.integers(0, 400), max_size=6), max_size=20),
    limit=st.integers(1, 2000),
    reads=st.lists(st.integers(0, 8), max_size=20),
)
def test_spilling_never_loses_doubles_or_reorders(sizes: Sequence[Sequence[int]], limit: int, reads: Sequence[int]):
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
