"""The event log on JetStream: competing writers, reading from any event, and errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.js import JetStreamContext

from handrail.bridge.cluster.nats import names
from handrail.bridge.cluster.store import session_stream, stream_reader
from handrail.bridge.cluster.store.event_log import JetStreamEventLog
from handrail.bridge.cluster.store.layout import lay_out
from handrail.bridge.cluster.store.session_stream import Batch, Entry, Unsettled, message_id
from handrail.bridge.errors import ClusterAway, Fenced, StoreFailed
from handrail.bridge.store.base import Bounds, NewEvent, Receipt
from handrail.testing import NatsServer
from tests.bridge.shared_nats import connected

MIB = 1024 * 1024


@pytest.fixture
async def connection() -> AsyncGenerator[Client]:
    async with connected(empty=names.STREAMS) as connection:
        yield connection


@pytest.fixture
def js(connection: Client) -> JetStreamContext:
    return connection.jetstream()


@pytest.fixture
def log(js: JetStreamContext) -> JetStreamEventLog:
    return JetStreamEventLog(js)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[NatsServer]:
    """A server that the test may kill."""
    async with NatsServer(tmp_path / "nats") as server:
        connection = await nats.connect(server.url)
        await lay_out(connection.jetstream(), 1)
        await connection.close()
        yield server


def batch(start: int, count: int, *, epoch: int = 1, first: int = 1, word: str = "x") -> Batch:
    entries = tuple(Entry(1, "said", b'"%s %d"' % (word.encode(), n), word) for n in range(start, start + count))
    return Batch(epoch=epoch, first=first, start=start, entries=entries)


async def numbers(log: JetStreamEventLog, session: str, after: int = 0) -> list[tuple[int, int]]:
    async with aclosing(log.stream.batches(session, after)) as found:
        return [(one.start, one.last) async for _, one in found]


async def test_newest_message_is_the_last_of_its_session(log: JetStreamEventLog):
    assert await log.stream.newest("s") is None
    place = await log.stream.publish("s", batch(1, 2), expected=0)
    await log.stream.publish("t", batch(1, 1), expected=0)
    newest = await log.stream.newest("s")
    assert newest is not None
    own_id = newest.id.rstrip("+")  # a publish that a busy server acknowledged late was repeated
    assert (newest.place, newest.batch, own_id) == (place, batch(1, 2), "s:1:1:2")


async def test_publishing_after_an_outdated_message_is_fenced(log: JetStreamEventLog):
    place = await log.stream.publish("s", batch(1, 2), expected=0)
    await log.stream.publish("s", Batch(epoch=2, first=1, start=3), expected=place)
    with pytest.raises(Fenced, match="session s has another owner now"):
        await log.stream.publish("s", batch(3, 1), expected=place)
    with pytest.raises(Fenced):
        await log.stream.publish("s", batch(1, 3), expected=0)
    assert await numbers(log, "s") == [(1, 2), (3, 2)]


async def test_repeated_batch_is_stored_once(log: JetStreamEventLog, js: JetStreamContext):
    first = await log.stream.publish("s", batch(1, 2), expected=0)
    assert await log.stream.publish("s", batch(1, 2), expected=0) == first
    second = await log.stream.publish("s", batch(3, 1), expected=first)
    assert await log.stream.publish("s", batch(3, 1), expected=first) == second
    assert await numbers(log, "s") == [(1, 2), (3, 3)]


async def test_repeated_batch_is_recognised_after_the_duplicate_window(server: NatsServer):
    connection = await nats.connect(server.url)
    js = connection.jetstream()
    info = await js.stream_info(names.EVENTS)
    await js.update_stream(replace(info.config, duplicate_window=0.1))
    log = JetStreamEventLog(js)
    place = await log.stream.publish("s", batch(1, 2), expected=0)
    headers = {"Nats-Msg-Id": message_id("s", batch(1, 2))}
    async with asyncio.timeout(20):
        while (await js.publish("handrail.events.t", headers=headers)).duplicate:
            pass
    assert await log.stream.publish("s", batch(1, 2), expected=0) == place
    await connection.close()


async def test_missing_messages_are_unsettled_instead_of_fenced(log: JetStreamEventLog):
    with pytest.raises(Unsettled, match="the last message of session s is not settled yet") as raised:
        await log.stream.publish("s", batch(1, 1), expected=10**6)
    assert raised.value.place == 0
    place = await log.stream.publish("s", batch(1, 1), expected=0)
    with pytest.raises(Unsettled) as raised:
        await log.stream.publish("s", batch(2, 1), expected=place + 1)
    assert raised.value.place == place


async def test_equal_numbers_with_other_content_are_fenced(log: JetStreamEventLog):
    await log.stream.publish("s", batch(1, 1, word="mine"), expected=0)
    with pytest.raises(Fenced):
        await log.stream.publish("s", batch(1, 1, word="yours"), expected=0)


async def test_purged_batch_can_be_published_again(log: JetStreamEventLog, js: JetStreamContext):
    await log.stream.publish("s", batch(1, 2), expected=0)
    await js.purge_stream(names.EVENTS)
    assert await log.stream.newest("s") is None
    await log.stream.publish("s", batch(1, 2), expected=0)
    assert await numbers(log, "s") == [(1, 2)]


async def test_receipts_are_in_the_batch_and_readable_alone(log: JetStreamEventLog):
    receipts = (Receipt("one", b"1"), Receipt("two", b""))
    await log.stream.publish("s", Batch(epoch=1, first=1, start=1, receipts=receipts), expected=0)
    newest = await log.stream.newest("s")
    assert newest is not None
    assert newest.batch.receipts == receipts
    assert [await log.receipt(name) for name in ("one", "two", "three")] == [b"1", b"", None]


async def test_concurrent_appends_use_each_number_once(log: JetStreamEventLog):
    async with connected() as another:
        logs = [log, JetStreamEventLog(another.jetstream())]
        added = await asyncio.gather(
            *(one.append("s", [NewEvent("said", b"same")] * 2) for one in logs for _ in range(20))
        )
        found = [event.seq for events in added for event in events]
        assert sorted(found) == list(range(1, 81))
        assert [event.seq for event in await logs[1].read("s", 0)] == list(range(1, 81))
        assert all(second == first + 1 for first, second in zip(found[::2], found[1::2], strict=True))


async def test_append_is_fenced_by_a_new_owner(log: JetStreamEventLog):
    await log.append("s", [NewEvent("said", b"1")])
    newest = await log.stream.newest("s")
    assert newest is not None
    await log.stream.publish("s", Batch(epoch=1, first=1, start=2), expected=newest.place)
    with pytest.raises(Fenced):
        await log.append("s", [NewEvent("said", b"2")])
    assert await log.bounds("s") == Bounds(1, 1)


async def written(log: JetStreamEventLog, count: int) -> None:
    """Write `count` batches of ten events, interleaved with another session."""
    place, other = 0, 0
    for n in range(count):
        place = await log.stream.publish("s", batch(n * 10 + 1, 10), expected=place)
        if n % 3 == 0:
            other = await log.stream.publish("t", batch(n + 1, 1), expected=other)


@pytest.mark.parametrize("near", [0, 15, 1000])
async def test_reading_starts_at_any_event(
    log: JetStreamEventLog, js: JetStreamContext, near: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(session_stream, "NEAR", near)
    await written(log, 40)
    for after in (0, 1, 9, 10, 11, 205, 389, 390, 399, 400, 900):
        expected = [(n, n + 9) for n in range(1, 400, 10) if n + 9 > after]
        assert await numbers(JetStreamEventLog(js), "s", after) == expected, after
        assert await numbers(log, "s", after) == expected, after
        assert [event.seq for event in await log.read("s", after)] == list(range(after + 1, 401)), after


async def test_reading_a_part_in_the_middle(log: JetStreamEventLog):
    await written(log, 30)
    assert [event.seq for event in await log.read("s", 95, limit=7)] == list(range(96, 103))
    assert [event.seq for event in await log.read_back("s", 103, limit=7)] == list(range(96, 103))
    assert [event.seq for event in await log.read_back("s", 299, limit=280)] == list(range(19, 299))


async def test_batches_at_the_end_include_empty_ones(log: JetStreamEventLog):
    place = await log.stream.publish("s", batch(1, 3), expected=0)
    place = await log.stream.publish("s", Batch(epoch=2, first=1, start=4), expected=place)
    await log.stream.publish("s", Batch(epoch=2, first=1, start=4, receipts=(Receipt("c", b"1"),)), expected=place)
    assert await numbers(log, "s", 3) == [(4, 3), (4, 3)]
    assert await numbers(log, "s", 2) == [(1, 3), (4, 3), (4, 3)]
    assert await numbers(log, "s", 4) == []


async def test_deleted_events_are_purged(log: JetStreamEventLog, js: JetStreamContext):
    await written(log, 10)
    await log.forget("s", through=55)
    assert await numbers(log, "s") == [(51, 60), (61, 70), (71, 80), (81, 90), (91, 100), (101, 100)]
    assert [event.seq for event in await log.read("s", 0)] == list(range(56, 101))
    await log.forget("s")
    counts = (await js.stream_info(names.EVENTS, subjects_filter=">")).state.subjects
    assert counts == {"handrail.events.s": 1, "handrail.events.t": 4}


async def test_deletion_during_a_read_does_not_count_as_a_gap(log: JetStreamEventLog, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(session_stream, "NEAR", 0)
    await written(log, 20)
    async with aclosing(log.stream.batches("s")) as found:
        assert (await anext(found))[1].start == 1
        await log.forget("s", through=150)
        rest = [one.start async for _, one in found]
    assert rest[-1] in (191, 201)


async def test_missing_events_are_reported(log: JetStreamEventLog, js: JetStreamContext):
    places = [0]
    for n in range(5):
        places.append(await log.stream.publish("s", batch(n + 1, 1), expected=places[-1]))
    await js.delete_msg(names.EVENTS, places[3])
    with pytest.raises(StoreFailed, match="events of session s are missing from 3 on"):
        await log.read("s", 0)


async def test_cached_positions_of_a_recreated_stream_do_no_harm(server: NatsServer):
    connection = await nats.connect(server.url)
    log = JetStreamEventLog(connection.jetstream())
    await written(log, 30)
    assert len(await log.read("s", 0)) == 300
    await connection.jetstream().delete_stream(names.EVENTS)
    with pytest.raises(ClusterAway, match="stream not found"):
        await log.stream.newest("s")
    with pytest.raises(ClusterAway):
        await log.stream.publish("s", batch(301, 1), expected=40)
    await lay_out(connection.jetstream(), 1)
    assert await log.bounds("s") == Bounds()
    place = 0
    for n in range(40):
        place = await log.stream.publish("u", batch(n + 1, 1, epoch=7), expected=place)
    place = 0
    for n in range(60):
        place = await log.stream.publish("s", batch(n * 5 + 1, 5, epoch=8), expected=place)
    for after in (0, 100, 155, 299):
        assert [event.seq for event in await log.read("s", after)] == list(range(after + 1, 301)), after
    await connection.close()


async def test_event_of_six_mebibytes_is_stored_and_larger_ones_rejected(log: JetStreamEventLog):
    large = [NewEvent("frame", b"x" * (6 * MIB), "harbour")]
    await log.append("s", [NewEvent("said", b"1")])
    assert [event.seq for event in await log.append("s", large)] == [2]
    await log.append("s", [NewEvent("said", b"3")])
    assert [len(event.data) for event in await log.read("s", 0, most_bytes=8 * MIB)] == [1, 6 * MIB, 1]
    with pytest.raises(StoreFailed, match="bytes exceeds") as raised:
        await log.append("s", [*large, *large])
    assert raised.value.lasting
    assert await log.bounds("s") == Bounds(1, 3)


async def test_full_stream_is_reported(server: NatsServer):
    connection = await nats.connect(server.url)
    js = connection.jetstream()
    config = (await js.stream_info(names.EVENTS)).config
    await js.update_stream(replace(config, max_bytes=2000))
    log = JetStreamEventLog(js)
    with pytest.raises(StoreFailed, match="maximum bytes exceeded") as raised:
        await log.stream.publish("s", batch(1, 500), expected=0)
    assert (raised.value.code, raised.value.lasting) == ("storage_full", False)
    await connection.close()


async def test_message_that_is_not_a_batch_is_reported(log: JetStreamEventLog, js: JetStreamContext):
    await js.publish(names.events_subject("s"), b"\xff\x00")
    with pytest.raises(StoreFailed, match="a message is not a batch of events"):
        await log.read("s", 0)


@pytest.mark.parametrize("name", ["*", ">", "s.*", "", "\r\n", "x" * 9000])
async def test_session_names_are_not_wildcards(log: JetStreamEventLog, name: str):
    await log.append("s", [NewEvent("said", b"1")])
    assert await log.read(name, 0) == []
    assert await log.bounds(name) == Bounds()
    assert [event.seq for event in await log.append(name, [NewEvent("said", b"2")])] == [1]
    assert len(await log.read(name, 0)) == 1


async def test_unanswered_publish_can_be_repeated(server: NatsServer):
    connection = await nats.connect(server.url)
    log = JetStreamEventLog(connection.jetstream(timeout=0.3))
    server.pause()
    with pytest.raises(ClusterAway, match="handrail-events: nats: timeout"):
        await log.stream.publish("s", batch(1, 2), expected=0)
    with pytest.raises(ClusterAway):
        await log.stream.newest("s")
    server.resume()
    log = JetStreamEventLog(connection.jetstream())
    place = await log.stream.publish("s", batch(1, 2), expected=0)
    await log.stream.publish("s", batch(3, 1), expected=place)
    assert await numbers(log, "s") == [(1, 2), (3, 3)]
    await connection.close()


async def test_server_that_hangs_during_a_replay_raises_cluster_away(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stream_reader, "_SILENCE", 0.5)
    connection = await nats.connect(server.url)
    js = connection.jetstream()
    async with asyncio.timeout(20), stream_reader.StreamReader(js, names.EVENTS, "handrail.events.s") as reader:
        await js.publish("handrail.events.s", b"1")
        heard = aiter(reader)
        assert (await anext(heard)).data == b"1"
        server.pause()
        with pytest.raises(ClusterAway, match="no heartbeat from the server"):
            await anext(heard)
        server.resume()
    await connection.close()


async def test_closed_connection_raises_cluster_away(log: JetStreamEventLog, connection: Client):
    await connection.close()
    with pytest.raises(ClusterAway, match="connection closed"):
        await log.stream.publish("s", batch(1, 1), expected=0)
    with pytest.raises(ClusterAway, match="connection closed"):
        await log.read("s", 0)
