"""The outbox publishes stored events in order and once, despite outages, takeovers and lost messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest
from nats.aio.msg import Msg

from handrail.bridge.cluster.nats.names import EVENTS, STREAMS, events_subject
from handrail.bridge.cluster.store.layout import lay_out
from handrail.bridge.cluster.store.session_stream import Batch, Entry
from handrail.bridge.cluster.store.stream_reader import connection_of
from handrail.bridge.errors import ClusterAway, CommandRefused, Fenced, OutboxFull, StoreFailed
from handrail.bridge.store.base import NewEvent, Receipt
from handrail.testing import NatsServer
from tests.bridge.cluster.machine_store import MachineStore, connected_store, new, said


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[NatsServer]:
    async with NatsServer(tmp_path / "nats") as server:
        yield server


async def test_appended_events_are_published_with_texts_and_receipts(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.adopt("s", 1)
        added = await machine.outbox.append("s", new("apple", "pear"), Receipt("c", b"1"))
        added += await machine.outbox.append("s", new("plum"))
        assert await machine.outbox.published("s", 3)
        assert await machine.remote.read("s", 0) == added == await machine.local.read("s", 0)
        batches = [batch async for _, batch in machine.stream.batches("s")]
        assert [entry.text for batch in batches for entry in batch.entries] == ["apple", "pear", "plum"]
        assert [one for batch in batches for one in batch.receipts] == [Receipt("c", b"1")]
        assert machine.outbox.behind.events == machine.outbox.behind.size == 0


async def test_events_appended_during_an_outage_are_published_afterwards(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.adopt("s", 1)
        await machine.outbox.append("s", new("before"))
        assert await machine.wait_until_published("s")
        await server.kill()
        for n in range(300):
            await machine.outbox.append("s", new(f"{n}"))
        assert machine.outbox.behind.events == 300
        assert machine.outbox.behind.size > 300
        await server.start()
        assert await machine.wait_until_published("s")
        assert said(await machine.remote.read("s", 0)) == ["before", *map(str, range(300))]


async def test_events_above_the_memory_limit_are_read_from_the_store(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.adopt("s", 1)
        server.pause()
        large = [NewEvent("frame", b'"%d"' % n + b" " * 100_000, f"word{n}") for n in range(30)]
        for one in large:
            await machine.outbox.append("s", [one], Receipt(f"c{one.text}", b"1"))
        server.resume()
        assert await machine.wait_until_published("s")
        found = [batch async for _, batch in machine.stream.batches("s")]
        assert [entry.data for batch in found for entry in batch.entries] == [one.data for one in large]
        assert [entry.text for batch in found for entry in batch.entries] == [one.text for one in large]
        assert [one.command for batch in found for one in batch.receipts] == [f"c{one.text}" for one in large]
        assert machine.outbox.behind.size == 0


async def test_many_sessions_survive_repeated_server_kills(tmp_path: Path, server: NatsServer):
    sessions = [f"s{n}" for n in range(20)]
    async with connected_store(tmp_path / "a", server, answer_within=1.0) as machine:
        await asyncio.gather(*(machine.adopt(session, 1) for session in sessions))

        async def write(session: str) -> None:
            for n in range(60):
                await machine.outbox.append(session, new(f"{session} {n} a", f"{session} {n} b"))
                await machine.outbox.published(session, n)  # stay close to what NATS has

        writing = asyncio.gather(*map(write, sessions))
        for _ in range(3):
            await asyncio.wait_for(machine.outbox.published("s0", machine.outbox.last("s0") + 6), 20)
            await server.kill()
            await server.start()
        await writing
        for session in sessions:
            assert await machine.wait_until_published(session)
            expected = [f"{session} {n} {letter}" for n in range(60) for letter in "ab"]
            assert said(await machine.remote.read(session, 0)) == expected
        assert not machine.outbox.alarms


async def commits_of(machine: MachineStore, sessions: list[str]) -> list[str]:
    """The ids of the commits that stored the newest messages of sessions; "" for a message by itself."""
    found = [await machine.js.get_last_msg(EVENTS, events_subject(session)) for session in sessions]
    return [(one.headers or {}).get("Nats-Batch-Id", "") for one in found]


@pytest.mark.parametrize("moves", [False, True], ids=["stays", "moves"])
async def test_sessions_that_write_at_once_share_a_commit(moves: bool, tmp_path: Path, server: NatsServer):
    sessions = [f"s{n}" for n in range(20)]
    async with connected_store(tmp_path / "a", server, moves=moves) as machine:
        for session in sessions:
            await machine.adopt(session, 1)
        await asyncio.gather(*(machine.outbox.append(session, new(session)) for session in sessions))
        for session in sessions:
            assert await machine.outbox.published(session, 1)
        assert len(set(await commits_of(machine, sessions))) == 1
        for session in sessions:
            assert said(await machine.remote.read(session, 0)) == [session]
        await machine.outbox.append("s1", new("alone"))
        assert await machine.outbox.published("s1", 2)
        assert await commits_of(machine, ["s1"]) == [""]


async def test_fenced_session_does_not_stop_the_others_of_its_commit(tmp_path: Path, server: NatsServer):
    sessions = ["a", "b", "c", "d"]
    async with connected_store(tmp_path / "a", server) as old, connected_store(tmp_path / "b", server) as taking:
        for session in sessions:
            await old.adopt(session, 1)
        await taking.adopt("b", 2)
        await taking.adopt("d", 2)
        await asyncio.gather(*(old.outbox.append(session, new("x", "y")) for session in sessions))
        for session in "ac":
            assert await old.outbox.published(session, 2)
            assert said(await old.remote.read(session, 0)) == ["x", "y"]
        for session in "bd":
            with pytest.raises(Fenced):
                await old.outbox.published(session, 2)
            assert said(await old.remote.read(session, 0)) == []
        await asyncio.gather(*(old.outbox.append(session, new("z")) for session in "ac"))
        for session in "ac":
            assert await old.outbox.published(session, 3)
        first, second = await commits_of(old, ["a", "c"])
        assert first == second != ""


async def test_event_that_waits_for_a_commit_is_refused_if_its_session_is_fenced(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server, moves=True) as machine:
        for session in ("s", "t"):
            await machine.adopt(session, 1)
        waiting = asyncio.gather(*(machine.log.append(session, new("x")) for session in "st"), return_exceptions=True)
        await asyncio.sleep(0)
        machine.outbox.drop("s")
        refused, stored = await waiting
        assert isinstance(refused, CommandRefused)
        assert refused.code == "elsewhere"
        assert said(await machine.local.read("s", 0)) == []
        assert said(stored) == said(await machine.local.read("t", 0)) == ["x"]


async def test_commit_whose_answer_was_lost_is_not_stored_twice(tmp_path: Path, server: NatsServer):
    sessions = ["a", "b", "c"]
    async with connected_store(tmp_path / "a", server) as machine:
        for session in sessions:
            await machine.adopt(session, 1)
        items = [
            (session, Batch(epoch=1, first=1, start=1, entries=(Entry(1, "said", b'"x"', "x"),)), place)
            for place, session in enumerate(sessions, 1)
        ]
        assert await machine.stream.publish_together(items) == [4, 5, 6]
        with pytest.raises(ClusterAway, match="duplicate"):
            await machine.stream.publish_together(items)
        assert [await machine.stream.publish(name, batch, expected=place) for name, batch, place in items] == [4, 5, 6]
        assert (await machine.js.stream_info(EVENTS)).state.messages == 6


async def test_stream_without_atomic_commits_is_published_to_singly(
    tmp_path: Path, server: NatsServer, caplog: pytest.LogCaptureFixture
):
    sessions = ["a", "b", "c"]
    async with connected_store(tmp_path / "a", server) as machine:
        config = (await machine.js.stream_info(EVENTS)).config
        await machine.js.update_stream(replace(config, allow_atomic=False))
        for session in sessions:
            await machine.adopt(session, 1)
        for word in ("x", "y"):
            await asyncio.gather(*(machine.outbox.append(session, new(word)) for session in sessions))
            for session in sessions:
                assert await machine.wait_until_published(session)
        for session in sessions:
            assert said(await machine.remote.read(session, 0)) == ["x", "y"]
        assert caplog.text.count("NATS does not support atomic commits") == 1


async def test_server_that_ignores_commit_headers_is_noticed(tmp_path: Path, server: NatsServer):
    """nats-server before 2.12 stores each message by itself and answers only the last one."""
    batch = Batch(epoch=1, first=1, start=1, entries=(Entry(1, "said", b'"x"', "x"),))
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.js.delete_stream(EVENTS)
        answered: list[str] = []

        async def answer(message: Msg) -> None:
            answered.append((message.headers or {}).get("Nats-Batch-Id", ""))
            if message.reply:
                await message.respond(b'{"stream":"%s","seq":%d}' % (EVENTS.encode(), len(answered)))

        await connection_of(machine.js).subscribe(STREAMS[EVENTS], cb=answer)
        with pytest.raises(ClusterAway, match="not supported"):
            await machine.stream.publish_together([("a", batch, 0), ("b", batch, 0)])
        assert await machine.stream.publish_together([("a", batch, 0), ("b", batch, 0)]) == [3, 4]
        assert answered[2:] == ["", ""]


async def test_next_process_publishes_what_was_left(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.adopt("s", 1)
        await machine.outbox.append("s", new("a"))
        assert await machine.wait_until_published("s")
        await server.kill()
        await machine.outbox.append("s", new("b"), Receipt("c", b"1"))
        await machine.local.append("never claimed", new("x"))
    await server.start()
    async with connected_store(tmp_path / "a", server) as machine:
        assert await machine.outbox.published("s", 2)
        assert said(await machine.remote.read("s", 0)) == ["a", "b"]
        assert await machine.remote.receipt("c") == b"1"
        assert machine.outbox.unclaimed == {"never claimed"}
        await machine.adopt("never claimed", 1)
        assert await machine.wait_until_published("never claimed")
        assert said(await machine.remote.read("never claimed", 0)) == ["x"]
        assert machine.outbox.unclaimed == set()


async def test_outdated_cursor_publishes_no_duplicates(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.adopt("s", 1)
        await machine.outbox.append("s", new("a", "b"))
        assert await machine.wait_until_published("s")
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.outbox.close()
        await machine.database.execute("UPDATE published SET seq = 0")
    async with connected_store(tmp_path / "a", server) as machine:
        assert await machine.outbox.published("s", 2)
        messages = [batch async for _, batch in machine.stream.batches("s")]
        assert [len(batch.entries) for batch in messages if batch.entries] == [2]


async def test_fenced_session_is_published_no_more(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as old, connected_store(tmp_path / "b", server) as taking:
        await old.adopt("s", 1)
        await old.outbox.append("s", new("a"))
        assert await old.wait_until_published("s")
        await taking.adopt("s", 2)
        await old.outbox.append("s", new("lost"))
        with pytest.raises(Fenced, match="session s has another owner"):
            await old.outbox.published("s", 2)
        assert old.outbox.is_fenced("s")
        await old.lost.wait()
        assert not old.held.holds("s")
        with pytest.raises(Fenced):
            await old.outbox.published("s", 2)
        assert old.outbox.behind.events == old.outbox.behind.size == 0
        assert said(await old.remote.read("s", 0)) == ["a"]


async def test_giving_up_releases_callers_and_publishing_resumes_later(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.adopt("s", 1)
        await server.kill()
        await machine.outbox.append("s", new("a"))
        waiting = asyncio.create_task(machine.outbox.published("s", 1))
        await asyncio.sleep(0)
        machine.outbox.give_up("s")
        assert not await waiting
        assert not await machine.outbox.published("s", 1)
        assert machine.outbox.behind.events == 0
        await server.start()
        machine.outbox.resume()
        assert await machine.outbox.published("s", 1)
        assert said(await machine.remote.read("s", 0)) == ["a"]


async def test_deleted_stream_is_detected_and_refilled_f29(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.adopt("s", 1)
        for word in "abc":
            await machine.outbox.append("s", new(word), Receipt(word, b"1"))
        assert await machine.wait_until_published("s")
        await machine.js.delete_stream(EVENTS)
        await lay_out(machine.js, 1)
        await machine.outbox.append("s", new("d"))
        assert await machine.wait_until_published("s")
        assert said(await machine.remote.read("s", 0)) == list("abcd")
        found = [batch async for _, batch in machine.stream.batches("s")]
        assert [one.command for batch in found for one in batch.receipts] == list("abc")
        assert ["NATS lost events of session s" in text for text in machine.outbox.alarms] == [True]


async def test_truncated_stream_is_detected_and_refilled_f29(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.adopt("s", 1)
        for word in "abc":
            await machine.outbox.append("s", new(word))
            assert await machine.wait_until_published("s")
        newest = await machine.stream.newest("s")
        assert newest is not None
        await machine.js.delete_msg(EVENTS, newest.place)
        await machine.js.delete_msg(EVENTS, newest.place - 1)
        await machine.outbox.append("s", new("d"))
        assert await machine.wait_until_published("s")
        assert said(await machine.remote.read("s", 0)) == list("abcd")
        assert ["it has 1 of 3 published events" in text for text in machine.outbox.alarms] == [True]


async def test_lost_events_of_idle_sessions_are_published_again(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.outbox.check()
        for session in ("s", "t"):
            await machine.adopt(session, 1)
            await machine.outbox.append(session, new(session), Receipt(session, b"1"))
            assert await machine.wait_until_published(session)
        await machine.outbox.check()
        assert not machine.outbox.alarms
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.js.delete_stream(EVENTS)
        await lay_out(machine.js, 1)
        await machine.outbox.check()
        for session in ("s", "t"):
            assert await machine.outbox.published(session, 1)
            assert said(await machine.remote.read(session, 0)) == [session]
        assert len(machine.outbox.alarms) == 3


async def test_after_a_loss_unpublished_events_wait_for_a_claim(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.adopt("s", 1)
        await machine.outbox.append("s", new("a"))
        assert await machine.wait_until_published("s")
        machine.outbox.give_up("s")
        await machine.outbox.append("s", new("b"))
        await machine.js.delete_stream(EVENTS)
        await lay_out(machine.js, 1)
    async with connected_store(tmp_path / "a", server) as machine:
        while not machine.outbox.unclaimed:  # noqa: ASYNC110 - the outbox does not signal it
            await asyncio.sleep(0.001)
        assert await machine.stream.newest("s") is None
        await machine.adopt("s", 2)
        assert await machine.wait_until_published("s")
        assert said(await machine.remote.read("s", 0)) == ["a", "b"]


async def test_full_outbox_accepts_nothing_until_it_drains(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server, most_behind=1000) as machine:
        await machine.adopt("s", 1)
        await server.kill()
        await machine.outbox.append("s", [NewEvent("frame", b'"%s"' % (b"x" * 1000))])
        with pytest.raises(OutboxFull, match="NATS is unreachable") as raised:
            await machine.outbox.append("s", new("one too many"))
        assert (raised.value.code, raised.value.lasting) == ("storage_full", False)
        await server.start()
        assert await machine.wait_until_published("s")
        await machine.outbox.append("s", new("again"))


async def test_event_too_large_for_nats_is_rejected_before_it_is_stored(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.adopt("s", 1)
        with pytest.raises(StoreFailed, match="exceeds the limit") as raised:
            await machine.outbox.append("s", [NewEvent("frame", b"x" * 2**23)])
        assert raised.value.lasting
        await machine.outbox.append("s", [NewEvent("frame", b"x" * 6 * 2**20)])
        assert await machine.wait_until_published("s")
        assert (await machine.remote.bounds("s")).last == 1


async def test_append_of_a_cancelled_caller_is_published(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.adopt("s", 1)
        appending = asyncio.create_task(machine.outbox.append("s", new("a")))
        await asyncio.sleep(0)
        appending.cancel()
        await asyncio.wait([appending])
        await machine.outbox.append("s", new("b"))
        assert await machine.wait_until_published("s")
        assert said(await machine.remote.read("s", 0)) == ["a", "b"]


async def test_deletion_is_published_and_numbers_are_not_reused(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.adopt("s", 1)
        for word in "abcde":
            await machine.outbox.append("s", new(word))
            assert await machine.wait_until_published("s")
        await machine.outbox.forget("s", 3)
        await machine.outbox.append("s", new("f"))
        assert await machine.wait_until_published("s")
        assert said(await machine.remote.read("s", 0)) == ["d", "e", "f"]
        await server.kill()
        await machine.outbox.append("s", new("g"))
        await machine.outbox.forget("s", None)
        await machine.outbox.append("s", new("h"))
        await server.start()
        assert await machine.wait_until_published("s")
        assert [one.seq for one in await machine.remote.read("s", 0)] == [8]
        assert await machine.remote.bounds("s") == await machine.local.bounds("s")


async def test_closing_publishes_pending_events(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.adopt("s", 1)
        for n in range(50):
            await machine.outbox.append("s", new(f"{n}"))
        await machine.outbox.close()
        assert len(await machine.remote.read("s", 0)) == 50
