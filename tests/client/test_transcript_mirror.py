"""The copy of a transcript in a session store, while the session runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import handrail.client.transcript_mirror as module
from handrail import Options, Session
from handrail.client.transcript_mirror import TranscriptMirror
from handrail.protocol import Message, encode_message
from handrail.schema.system_messages import MirrorErrorMessage
from handrail.session_store import InMemorySessionStore, SessionStoreError
from handrail.testing import ScriptedCli, hold
from tests.client.conversation import PATIENCE, joined

SESSION = "5c9a7f3e-0000-4000-8000-000000000001"
PATH = f"/home/me/.claude/projects/-work/{SESSION}.jsonl"
KEY: Any = {"project_key": "-work", "session_id": SESSION}
SUBAGENT = PATH.replace(".jsonl", "/subagents/agent-a1.jsonl")


def frame(*uuids: str, path: str = PATH, **fields: Any) -> dict[str, Any]:
    """A mirror message with one entry per uuid."""
    entries = [{"type": "user", "uuid": uuid, **fields} for uuid in uuids]
    return {"type": "transcript_mirror", "filePath": path, "entries": entries}


async def uuids(store: InMemorySessionStore, key: Any = KEY) -> str:
    return " ".join(entry["uuid"] for entry in await store.load(key) or ())


class RecordingStore(InMemorySessionStore):
    """Records every append; `failures` of them raise, and each waits until `open` is set."""

    def __init__(self, failures: int = 0, *, opened: bool = True) -> None:
        super().__init__()
        self.failures = failures
        self.calls: list[str] = []
        self.called, self.open = asyncio.Event(), asyncio.Event()
        if opened:
            self.open.set()

    async def append(self, key: Any, entries: Any) -> None:
        self.calls.append(" ".join(entry["uuid"] for entry in entries))
        self.called.set()
        await self.open.wait()
        if self.failures:
            self.failures -= 1
            raise ConnectionError("the database is down")
        await super().append(key, entries)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_AFTER", (0.0, 0.0))


@asynccontextmanager
async def stored(
    turns: list[list[Any]], store: Any, **options: Any
) -> AsyncIterator[tuple[Session, ScriptedCli, list[Any]]]:
    """A session with a store, and everything that one of its readers sees."""
    cli, seen = ScriptedCli(turns), []
    async with joined(cli, Options(session_store=store, **options)) as session:
        reader = session.messages()

        async def follow() -> None:
            async for message in reader:
                seen.append(message)

        following = asyncio.create_task(follow())
        yield session, cli, seen
    await following


def errors(seen: list[Any]) -> list[MirrorErrorMessage]:
    return [message for message in seen if isinstance(message, MirrorErrorMessage)]


# Within a session


async def test_store_has_the_turn_when_its_result_is_read_and_no_reader_sees_the_mirror():
    store = InMemorySessionStore()
    turn = [frame("a", "b"), "Hello", frame("x", path=SUBAGENT), frame("c")]
    async with stored([turn], store) as (session, _, seen):
        shown = [message async for message in await session.send("Hi")]
        assert await uuids(store) == "a b c"
        assert await uuids(store, {**KEY, "subpath": "subagents/agent-a1"}) == "x"
    assert not any(message.type == "transcript_mirror" for message in [*shown, *seen])
    assert [message.type for message in shown][-2:] == ["assistant", "result"]


async def test_batched_mirror_appends_at_the_end_of_the_turn():
    store = RecordingStore()
    turn = [frame("a"), frame("b", "c"), hold("middle"), frame("d")]
    async with stored([turn], store) as (session, cli, _):
        turn = await session.send("Hi")
        await cli.until(lambda: "middle" in cli.held)
        cli.release("middle")
        await turn
        await session.store_flushed()
    assert store.calls == ["a b c d"]


async def test_eager_mirror_does_not_wait_for_the_end_of_the_turn():
    store = RecordingStore()
    async with stored([[frame("a"), hold("stored"), frame("b")]], store, session_store_flush="eager") as (
        session,
        cli,
        _,
    ):
        turn = await session.send("Hi")
        await store.called.wait()
        assert not turn.done
        cli.release("stored")
        await turn
        await session.store_flushed()
    assert store.calls == ["a", "b"]


async def test_hanging_store_does_not_delay_a_turn():
    store = RecordingStore(opened=False)
    async with stored([[frame("a"), "one"], [frame("b"), "two"]], store) as (session, *_):
        assert (await session.ask("Hi")).text == "one"
        assert (await session.ask("Hi")).text == "two"
        assert store.calls == ["a"]
        store.open.set()
        await session.store_flushed()
        assert await uuids(store) == "a b"


async def test_failed_append_is_retried_without_a_report():
    store = RecordingStore(failures=2)
    async with stored([[frame("a")]], store) as (session, _, seen):
        await session.ask("Hi")
        await session.store_flushed()
    assert store.calls == ["a", "a", "a"]
    assert await uuids(store) == "a"
    assert errors(seen) == []


async def test_failing_store_is_reported_and_gets_everything_in_order_once_it_works(caplog: pytest.LogCaptureFixture):
    store = RecordingStore(failures=3)
    async with stored([[frame("a"), "one"], [frame("b"), "two"]], store) as (session, _, seen):
        assert (await session.ask("Hi")).text == "one"
        with pytest.raises(SessionStoreError, match="ConnectionError: the database is down"):
            await session.store_flushed()
        assert (await session.ask("Hi")).text == "two"
        await session.store_flushed()
    assert await uuids(store) == "a b"
    [error] = errors(seen)
    assert (error.key, error.session_id) == (KEY, SESSION)
    assert error.error == "append() failed: ConnectionError: the database is down"
    assert "the database is down" in caplog.text


async def test_report_reaches_the_running_turn():
    store = RecordingStore(failures=3)
    async with stored([[frame("a"), hold("reported"), "one"]], store, session_store_flush="eager") as (session, cli, _):
        turn = await session.send("Hi")
        shown: list[Any] = []
        async for message in turn:
            shown.append(message)
            if isinstance(message, MirrorErrorMessage):
                cli.release("reported")
    assert len(errors(shown)) == 1


async def test_lines_that_the_cli_writes_at_its_end_are_stored():
    store = InMemorySessionStore()

    async with stored([[frame("a"), "one", {"type": "result"}, frame("late")]], store) as (session, *_):
        await session.ask("Hi")
    assert await uuids(store) == "a late"


async def test_entries_that_are_lost_at_the_end_are_logged(caplog: pytest.LogCaptureFixture):
    store = RecordingStore(failures=99)
    async with stored([[frame("a", "b"), "one"]], store) as (session, *_):
        await session.ask("Hi")
    assert "2 entries are lost; append() failed: ConnectionError" in caplog.text
    assert await uuids(store) == ""


async def test_close_waits_for_a_hanging_store_no_longer_than_its_timeout(caplog: pytest.LogCaptureFixture):
    store = RecordingStore(opened=False)
    async with stored([[frame("a"), "one"]], store, session_store_append_timeout=0.05) as (session, *_):
        assert (await session.ask("Hi")).text == "one"
    assert "append() did not finish within 0.05 s" in caplog.text
    assert "1 entry is lost" in caplog.text


async def test_append_that_timed_out_is_not_retried_at_once():
    store = RecordingStore(opened=False)
    async with stored([[frame("a")]], store, session_store_append_timeout=0.05) as (session, _, seen):
        await session.ask("Hi")
        with pytest.raises(SessionStoreError, match=r"within 0\.05 s"):
            await session.store_flushed()
        assert store.calls == ["a"]
        store.open.set()
        await session.store_flushed()
        assert await uuids(store) == "a"
    assert len(errors(seen)) == 1


async def test_timeout_that_the_store_raises_itself_is_retried():
    class Impatient(RecordingStore):
        async def append(self, key: Any, entries: Any) -> None:
            if len(self.calls) < 2:
                self.calls.append("timeout")
                raise TimeoutError
            await super().append(key, entries)

    store = Impatient()
    async with stored([[frame("a")]], store) as (session, _, seen):
        await session.ask("Hi")
        await session.store_flushed()
    assert store.calls == ["timeout", "timeout", "a"]
    assert errors(seen) == []


async def test_store_that_cancels_itself_does_not_end_the_mirror():
    class Cancelled(RecordingStore):
        async def append(self, key: Any, entries: Any) -> None:
            if not self.calls:
                self.calls.append("cancelled")
                raise asyncio.CancelledError
            await super().append(key, entries)

    store = Cancelled()
    async with stored([[frame("a")]], store) as (session, *_):
        await session.ask("Hi")
        await session.store_flushed()
    assert await uuids(store) == "a"


async def test_message_without_a_transcript_is_reported_once_in_a_turn():
    store = InMemorySessionStore()
    strange = frame("a", path="/elsewhere/notes.jsonl")
    turn = [strange, strange, b'{"type":"transcript_mirror","filePath":7,"entries":[1]}', frame("b"), "one"]
    async with stored([turn], store) as (session, _, seen):
        assert (await session.ask("Hi")).text == "one"
    assert [error.key for error in errors(seen)] == [None, None]
    assert "'/elsewhere/notes.jsonl' is not the path of a transcript" in errors(seen)[0].error
    assert await uuids(store) == "b"


async def test_session_without_a_store_shows_the_mirror_as_before():
    async with joined(ScriptedCli([[frame("a")]]), Options(extra_args={"session-mirror": None})) as session:
        shown = [message.type async for message in await session.send("Hi")]
        with pytest.raises(RuntimeError, match="no store"):
            await session.store_flushed()
    assert "transcript_mirror" in shown


# The mirror alone


@asynccontextmanager
async def mirrored(store: Any, **options: Any) -> AsyncIterator[tuple[TranscriptMirror, list[str]]]:
    told: list[str] = []
    mirror = TranscriptMirror(
        store, **{"eager": False, "timeout": PATIENCE} | options, report=lambda text, key: told.append(text)
    )
    async with asyncio.timeout(PATIENCE):
        yield mirror, told
        await mirror.close()


def messages(*frames: dict[str, Any]) -> list[Message]:
    return [encode_message(one) for one in frames]


async def test_large_batch_is_appended_before_the_turn_ends(monkeypatch: pytest.MonkeyPatch):
    for limit in ("BATCH_ENTRIES", "BATCH_BYTES"):
        with monkeypatch.context() as patch:
            patch.setattr(module, limit, 3)
            store = RecordingStore()
            async with mirrored(store) as (mirror, _):
                mirror.take(messages(frame("a", "b", "c")))
                await store.called.wait()
            assert store.calls == ["a b c"]


async def test_entries_of_a_long_turn_are_appended_after_a_while(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "BATCH_SECONDS", 0.01)
    store = RecordingStore()
    async with mirrored(store) as (mirror, _):
        mirror.take(messages(frame("a"), frame("b")))
        await store.called.wait()
    assert store.calls == ["a b"]


async def test_memory_of_a_failing_store_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "HELD_BYTES", 4000)
    store = RecordingStore(failures=10**6)
    async with mirrored(store) as (mirror, told):
        for number in range(100):
            mirror.take(messages(frame(str(number), text="x" * 100)))
        store.failures = 0
        await mirror.flushed()
    kept = (await uuids(store)).split()
    assert kept == [str(number) for number in range(100 - len(kept), 100)]
    lost = sum(int(text.split()[0]) for text in told if " lost" in text)
    assert (lost + len(kept), 5 < len(kept) < 30) == (100, True)


async def test_entries_that_arrive_during_a_failing_append_keep_their_order():
    store = RecordingStore(failures=3, opened=False)
    async with mirrored(store, eager=True) as (mirror, told):
        mirror.take(messages(frame("a")))
        await store.called.wait()
        mirror.take(messages(frame("b"), frame("x", path=SUBAGENT)))
        store.open.set()
        await mirror.flushed()
        await mirror.flushed()
    assert await uuids(store) == "a b"
    assert len(told) == 1


async def test_cancelled_close_reports_what_is_lost(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.WARNING)
    store, told = RecordingStore(opened=False), []
    mirror = TranscriptMirror(store, eager=True, timeout=PATIENCE, report=lambda text, key: told.append(text))
    mirror.take(messages(frame("a")))
    closing = asyncio.create_task(mirror.close())
    await store.called.wait()
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert told == [f"1 entry is lost; append() did not finish within {PATIENCE:g} s"]
