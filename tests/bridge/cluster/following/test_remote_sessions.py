"""A session followed from another machine: every event arrives once and in order, even if messages are lost."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from handrail.bridge.cluster.following.live import Live, encode
from handrail.bridge.cluster.following.remote_sessions import RemoteSession
from handrail.bridge.cluster.nats.names import live_subject
from handrail.bridge.errors import ClusterAway
from handrail.bridge.session.events import item, live_item
from handrail.bridge.session.feed import CutOff
from handrail.bridge.store.base import Event, NewEvent, SessionRecord
from handrail.testing import NatsServer
from handrail.testing.memory_store import MemoryEventLog
from tests.bridge.cluster.remote_stage import FeedReader, connected
from tests.bridge.cluster.scripted_owner import ID, RECORD, ScriptedOwner, UnavailableLog, followed, owned

START = {"type": "message_start", "message": {"id": "m"}}


def raw(event: dict[str, Any]) -> bytes:
    return json.dumps({"type": "stream_event", "event": event}).encode()


def piece(text: str) -> bytes:
    return raw({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})


def text(remote: RemoteSession) -> str:
    """The text of the block in progress."""
    events = [json.loads(line)["event"] for line in remote.partial.so_far()]
    return "".join(one["delta"]["text"] for one in events if "delta" in one)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[NatsServer]:
    async with asyncio.timeout(60), NatsServer(tmp_path / "nats") as server:
        yield server


async def test_starts_at_the_position_of_the_owner_and_follows_live_messages(server: NatsServer):
    async with owned(server) as owner:
        for _ in range(3):
            await owner.event()
        owner.so_far = (raw(START), piece("so far"))
        async with followed(server, owner) as (remote, reader):
            assert (remote.seq, remote.live) == (3, True)
            assert text(remote) == "so far"
            await owner.publish(owner.live_message(live_item(piece(" and on"))), await owner.event(title="t"))
            await reader.until(lambda: reader.numbers == [4])
            assert reader.items[0] == {"kind": "live", "data": json.loads(piece(" and on"))}
            assert remote.seq == 4
            assert text(remote) == "so far and on"
            assert [one.seq for one in await remote.read(2)] == [3, 4]


@pytest.mark.parametrize("seed", range(4))
async def test_lost_repeated_and_reordered_messages_deliver_each_event_once(server: NatsServer, seed: int):
    chance = random.Random(seed)
    async with owned(server) as owner, followed(server, owner, renew=0.2) as (remote, reader):
        published: list[Live] = []
        for n in range(150):
            if chance.random() < 0.02:
                published.append(owner.start_life(f"life {n}"))
            live = await owner.event(n=n)
            if chance.random() > 0.1:
                published += [live] * chance.randint(2, 5)
            while len(published) > 64:
                await owner.publish(published.pop(chance.randrange(64)))
        chance.shuffle(published)
        await owner.publish(*published)
        await reader.until(lambda: remote.seq == 150 and len(reader.numbers) == 150)
        assert reader.numbers == list(range(1, 151))
        assert [one["data"]["n"] for one in reader.items] == list(range(150))


async def test_gap_is_filled_from_the_log_first(server: NatsServer):
    async with owned(server) as owner, followed(server, owner) as (remote, reader):
        for _ in range(5):
            lost = await owner.event()
        assert lost.count == 5
        await owner.publish(await owner.event())
        await reader.until(lambda: len(reader.items) == 6)
        assert reader.numbers == [1, 2, 3, 4, 5, 6]
        assert remote.seq == 6


async def test_followers_resubscribe_if_pieces_of_a_block_were_lost(server: NatsServer):
    async with owned(server) as owner, followed(server, owner) as (remote, reader):
        await owner.publish(owner.live_message(live_item(raw(START))), owner.live_message(live_item(piece("one "))))
        await reader.until(lambda: len(reader.items) == 2)
        owner.live_message(live_item(piece("two ")))
        owner.so_far = (raw(START), piece("one two three"))
        await owner.publish(owner.live_message(live_item(piece("three"))))
        with pytest.raises(CutOff, match="messages of another machine were lost"):
            await reader.until(lambda: False)
        assert text(remote) == "one two three"
        again = FeedReader(remote.feed)
        await owner.publish(owner.live_message(live_item(piece("four"))))
        await again.until(lambda: again.items)
        assert again.items == [{"kind": "live", "data": json.loads(piece("four"))}]


async def test_renewed_request_detects_a_lost_last_message(server: NatsServer):
    async with owned(server) as owner, followed(server, owner, renew=0.05) as (_, reader):
        await owner.event()
        await reader.until(lambda: reader.numbers == [1])


async def test_client_that_is_ahead_of_the_machine_continues_where_it_was(server: NatsServer):
    async with owned(server) as owner, followed(server, owner) as (remote, reader):
        for _ in range(3):
            await owner.event()  # another machine has these messages, this one does not
        await asyncio.gather(*(remote.reach(seq) for seq in (2, 3, 3, 1)))
        assert (remote.seq, owner.asked) == (3, 2)
        await reader.until(lambda: reader.numbers == [1, 2, 3])
        await remote.reach(9)
        assert remote.seq == 3
        owner.answers = False
        await owner.close()
        await remote.reach(9)
        assert remote.seq == 3


async def test_new_life_of_the_owner_continues_without_a_gap(server: NatsServer):
    async with owned(server) as owner, followed(server, owner) as (_, reader):
        await owner.publish(await owner.event())
        await reader.until(lambda: reader.numbers == [1])
        await owner.event()
        await owner.publish(owner.start_life("b"))
        await reader.until(lambda: reader.numbers == [1, 2])
        await owner.publish(await owner.event())
        await reader.until(lambda: reader.numbers == [1, 2, 3])


async def test_log_is_served_until_a_machine_runs_the_session(server: NatsServer):
    log = MemoryEventLog()
    await log.append(ID, [NewEvent("changed", b"{}")] * 3)
    async with connected(server.url) as connection:
        owner = ScriptedOwner(connection, log)
        async with followed(server, owner) as (remote, reader):
            assert (remote.seq, remote.live) == (3, False)
            await log.append(ID, [NewEvent("changed", b"{}")])
            remote.changed(RECORD)
            await reader.until(lambda: reader.numbers == [4])
            await owner.open()
            remote.changed(RECORD)
            await owner.until_asked(1)
            await owner.publish(await owner.event())
            await reader.until(lambda: reader.numbers == [4, 5])
            assert remote.live


async def test_announcements_of_owners_are_handled_immediately(server: NatsServer):
    log = MemoryEventLog()
    async with owned(server, "a", log) as first, followed(server, first, renew=3600) as (remote, reader):
        await first.publish(await first.event())
        await reader.until(lambda: reader.numbers == [1])
        await first.close()
        await first.event()
        await first.publish(Live("", 0))
        await reader.until(lambda: reader.numbers == [1, 2])
        assert not remote.live
        async with owned(server, "b", log) as second:
            await second.publish(Live("hello", 0))
            await second.until_asked(1)
            await second.publish(await second.event())
            await reader.until(lambda: reader.numbers == [1, 2, 3])


async def test_only_a_changed_runner_triggers_a_request(server: NatsServer):
    async with owned(server) as owner, followed(server, owner) as (remote, _):
        remote.changed(SessionRecord(id=ID, cwd="/", created=1, changed=2, runner="r1", title="other"))
        assert (remote.record.title, remote.state()) == ("other", "starting")
        remote.changed(SessionRecord(id=ID, cwd="/", created=1, changed=3, runner="r2"))
        await owner.until_asked(2)
        await owner.settle()
        assert owner.asked == 2


async def test_log_is_served_while_the_owner_does_not_answer(server: NatsServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("handrail.bridge.cluster.following.remote_sessions.ANSWER_WITHIN", 0.1)
    async with owned(server) as owner:
        owner.answers = False
        await owner.event()
        async with followed(server, owner, renew=0.05) as (remote, reader):
            assert (remote.seq, remote.live) == (1, False)
            owner.answers = True
            await owner.event()
            await reader.until(lambda: reader.numbers == [2])
            assert remote.live


async def test_unpublished_events_are_read_from_the_owner(server: NatsServer):
    async with owned(server) as owner:
        await owner.event()
        owner.unpublished = [Event(2, 1, "changed", b"{}"), Event(3, 1, "changed", b"{}")]
        owner.seq = 3
        async with followed(server, owner) as (remote, reader):
            assert remote.seq == 3
            assert [one.seq for one in await remote.read(0)] == [1]
            assert await remote.read(1) == owner.unpublished
            assert await remote.read(3) == []
            owner.unpublished.append(Event(4, 1, "changed", b"{}"))
            owner.seq = 4
            await owner.publish(owner.start_life("b"))
            await reader.until(lambda: reader.numbers == [4])
            owner.problem = "the disk has failed"
            with pytest.raises(ClusterAway, match="r1: the disk has failed"):
                await remote.read(1)
            await owner.close()
            with pytest.raises(ClusterAway, match="exist only on r1"):
                await remote.read(1)
            await owner.log.append(ID, [NewEvent("changed", b"{}")] * 3)
            await owner.log.forget(ID)
            assert await remote.read(1) == [], "they were deleted everywhere"


async def test_events_lost_with_their_machine_are_rewound(server: NatsServer):
    log = MemoryEventLog()
    async with owned(server, "a", log) as first, followed(server, first) as (remote, reader):
        await first.publish(await first.event())
        first.seq = 2
        await first.publish(first.live_message(item(Event(2, 1, "changed", b"{}"))))
        await reader.until(lambda: reader.numbers == [1, 2])
        await first.close()
        async with owned(server, "b", log) as second:
            await second.publish(Live("hello", 0))
            with pytest.raises(CutOff, match="lost with their machine"):
                await reader.until(lambda: False)
            assert remote.seq == 1
            again = FeedReader(remote.feed)
            await second.until_asked(1)
            await second.publish(await second.event())
            await again.until(lambda: again.numbers == [2])


async def test_owner_behind_the_log_is_asked_until_it_caught_up(server: NatsServer):
    log = MemoryEventLog()
    await log.append(ID, [NewEvent("changed", b"{}")] * 2)
    async with connected(server.url) as connection:
        owner = ScriptedOwner(connection, log)
        async with followed(server, owner) as (remote, reader):
            assert remote.seq == 2
            await owner.open()
            owner.seq = 1
            await owner.publish(Live("hello", 0))
            await owner.until_asked(2)
            assert not remote.live
            owner.seq = 2
            await owner.until_asked(owner.asked + 1)
            await owner.publish(await owner.event())
            await reader.until(lambda: reader.numbers == [3])


async def test_deleted_events_are_skipped(server: NatsServer):
    async with owned(server) as owner, followed(server, owner) as (remote, reader):
        for _ in range(3):
            await owner.event()
        await owner.log.forget(ID, through=2)
        await owner.publish(await owner.event())
        await reader.until(lambda: reader.numbers == [3, 4])
        await owner.event()
        await owner.log.forget(ID)
        asked = owner.asked
        await owner.publish(owner.live_message())
        await owner.until_asked(asked + 1)
        await owner.publish(await owner.event())
        await reader.until(lambda: reader.numbers == [3, 4, 6])
        assert remote.seq == 6


async def test_follower_that_missed_more_than_the_feed_holds_is_cut_off(server: NatsServer):
    async with owned(server) as owner, followed(server, owner) as (remote, reader):
        for _ in range(12):
            await owner.event(text="x" * 500_000)
        await owner.publish(owner.start_life("b"))
        with pytest.raises(CutOff):
            await reader.until(lambda: len(reader.numbers) == 12)
        assert remote.seq == 12


async def test_malformed_live_messages_are_ignored(server: NatsServer, caplog: pytest.LogCaptureFixture):
    async with owned(server) as owner, followed(server, owner) as (_, reader):
        for bad in (
            b"",
            b"\xc1",
            b"\x91" * 3000,
            encode(owner.live_message(b'{"seq":')),
            encode(owner.live_message(b"[1]")),
        ):
            await owner.connection.publish(live_subject(ID), bad)
        await owner.publish(await owner.event())
        await reader.until(lambda: reader.numbers == [1])
        assert caplog.text.count("malformed") == 5


async def test_events_during_an_outage_are_delivered_once_afterwards(server: NatsServer):
    async with owned(server) as owner, followed(server, owner) as (_, reader):
        await owner.publish(await owner.event())
        await reader.until(lambda: reader.numbers == [1])
        await server.kill()
        await owner.event()
        await owner.event()
        await server.start()
        await reader.until(lambda: reader.numbers == [1, 2, 3])
        await owner.publish(await owner.event())
        await reader.until(lambda: reader.numbers == [1, 2, 3, 4])


async def test_open_fails_without_nats(server: NatsServer):
    async with connected(server.url, pending_size=0) as connection:
        remote = RemoteSession(connection, MemoryEventLog(), RECORD)
        await connection.close()
        with pytest.raises(ClusterAway, match="cannot be followed"):
            await remote.open()


async def test_open_fails_without_owner_and_log(server: NatsServer):
    async with connected(server.url) as connection:
        log = UnavailableLog()
        log.away = True
        remote = RemoteSession(connection, log, RECORD)
        with pytest.raises(ClusterAway, match="lost its majority"):
            await remote.open()
        await remote.close()


async def test_unavailable_log_delays_missing_events_but_loses_none(server: NatsServer):
    log = UnavailableLog()
    async with owned(server, "a", log) as owner, followed(server, owner, renew=0.05) as (_, reader):
        await owner.event()
        log.away = True
        await owner.publish(await owner.event())
        await log.asked.wait()
        await owner.publish(await owner.event())
        log.away = False
        await reader.until(lambda: len(reader.numbers) == 3)
        assert reader.numbers == [1, 2, 3]


async def test_malformed_answer_is_requested_again(server: NatsServer):
    async with owned(server) as owner:
        owner.invalid_answer = b"\xc1"
        async with followed(server, owner, renew=0.05) as (remote, reader):
            assert not remote.live
            owner.invalid_answer = b""
            await owner.event()
            await reader.until(lambda: reader.numbers == [1])
            assert remote.live


async def test_owner_that_stays_behind_the_log_is_not_followed(server: NatsServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("handrail.bridge.cluster.following.remote_sessions.PAUSE", 0.001)
    async with owned(server) as owner, followed(server, owner) as (remote, reader):
        await owner.publish(await owner.event())
        await reader.until(lambda: reader.numbers == [1])
        owner.life, owner.seq = "b", 0
        asked = owner.asked
        await owner.publish(Live("b", 0))
        await owner.until_asked(asked + 20)
        assert remote.seq == 1
        owner.seq = 1
        remote.ask_owner()
        await owner.until_asked(owner.asked + 1)
        await owner.publish(await owner.event())
        await reader.until(lambda: reader.numbers == [1, 2])


async def test_arbitrary_cli_lines_are_accepted(server: NatsServer):
    async with owned(server) as owner, followed(server, owner) as (remote, reader):
        odd = [b'"text"', b"[]", b'{"type":7}', b'{"type":"assistant"}', b'{"type":"result"}', b"1"]
        added = await owner.log.append(ID, [NewEvent("frame", data) for data in odd])
        owner.seq = added[-1].seq
        await owner.publish(owner.live_message(*map(item, added), live_item(b"null")))
        await reader.until(lambda: len(reader.items) == 7)
        assert remote.seq == 6


async def test_unused_session_can_be_forgotten_after_a_while(server: NatsServer):
    now = 100.0
    async with owned(server) as owner, connected(server.url) as connection:
        remote = RemoteSession(connection, owner.log, RECORD, clock=lambda: now)
        await remote.open()
        reader = FeedReader(remote.feed)
        now += 61
        assert not remote.is_forgettable()
        reader.close()
        assert remote.is_forgettable()
        remote.touched = now
        assert not remote.is_forgettable()
        await remote.close()


async def test_close_during_any_step_of_a_request(server: NatsServer):
    async with owned(server) as owner, connected(server.url) as connection:
        for turns in range(60):
            remote = RemoteSession(connection, owner.log, RECORD)
            await remote.open()
            remote.ask_owner()
            if turns % 2:
                await owner.until_asked(owner.asked + 1)
            for _ in range(turns // 2):
                await asyncio.sleep(0)
            await remote.close()
