"""A session of another machine: who follows it here sees what those see who follow it there, whatever is lost."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from handrail.bridge.cluster.following.live import Live, encode
from handrail.bridge.cluster.following.remote_session import RemoteSession
from handrail.bridge.cluster.nats.names import live_subject
from handrail.bridge.errors import ClusterAway
from handrail.bridge.session.events import item, live_item
from handrail.bridge.session.feed import CutOff
from handrail.bridge.store.base import Event, NewEvent, SessionRecord
from handrail.testing import NatsServer
from handrail.testing.memory_store import MemoryEventLog
from tests.bridge.cluster.elsewhere import Reader, connected
from tests.bridge.cluster.scripted_owner import ID, RECORD, AwayLog, Owner, followed, owned

START = {"type": "message_start", "message": {"id": "m"}}


def raw(event: dict[str, Any]) -> bytes:
    return json.dumps({"type": "stream_event", "event": event}).encode()


def piece(text: str) -> bytes:
    return raw({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})


def text(remote: RemoteSession) -> str:
    """The block so far."""
    events = [json.loads(line)["event"] for line in remote.partial.so_far()]
    return "".join(one["delta"]["text"] for one in events if "delta" in one)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[NatsServer]:
    async with asyncio.timeout(60), NatsServer(tmp_path / "nats") as server:
        yield server


async def test_it_begins_where_the_owner_is_and_goes_on_with_what_is_told(server: NatsServer):
    async with owned(server) as owner:
        for _ in range(3):
            await owner.event()
        owner.so_far = (raw(START), piece("so far"))
        async with followed(server, owner) as (remote, reader):
            assert (remote.seq, remote.live) == (3, True)
            assert text(remote) == "so far"
            await owner.tell(owner.say(live_item(piece(" and on"))), await owner.event(title="t"))
            await reader.until(lambda: reader.numbers == [4])
            assert reader.items[0] == {"kind": "live", "data": json.loads(piece(" and on"))}
            assert remote.seq == 4
            assert text(remote) == "so far and on"
            assert [one.seq for one in await remote.read(2)] == [3, 4]


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_becomes_of_live_messages_each_event_comes_once_and_in_order(server: NatsServer, seed: int):
    chance = random.Random(seed)
    async with owned(server) as owner, followed(server, owner, renew=0.2) as (remote, reader):
        told: list[Live] = []
        for n in range(150):
            if chance.random() < 0.02:
                told.append(owner.begin_anew(f"life {n}"))
            live = await owner.event(n=n)
            if chance.random() > 0.1:
                told += [live] * chance.randint(2, 5)
            while len(told) > 64:
                await owner.tell(told.pop(chance.randrange(64)))
        chance.shuffle(told)
        await owner.tell(*told)
        await reader.until(lambda: remote.seq == 150 and len(reader.numbers) == 150)
        assert reader.numbers == list(range(1, 151))
        assert [one["data"]["n"] for one in reader.items] == list(range(150))


async def test_a_gap_is_filled_from_the_record_before_what_comes_after_it(server: NatsServer):
    async with owned(server) as owner, followed(server, owner) as (remote, reader):
        for _ in range(5):
            lost = await owner.event()
        assert lost.count == 5
        await owner.tell(await owner.event())
        await reader.until(lambda: len(reader.items) == 6)
        assert reader.numbers == [1, 2, 3, 4, 5, 6]
        assert remote.seq == 6


async def test_where_pieces_of_a_block_were_lost_followers_begin_anew_with_the_block_so_far(server: NatsServer):
    async with owned(server) as owner, followed(server, owner) as (remote, reader):
        await owner.tell(owner.say(live_item(raw(START))), owner.say(live_item(piece("one "))))
        await reader.until(lambda: len(reader.items) == 2)
        owner.say(live_item(piece("two ")))
        owner.so_far = (raw(START), piece("one two three"))
        await owner.tell(owner.say(live_item(piece("three"))))
        with pytest.raises(CutOff, match="messages of another machine were lost"):
            await reader.until(lambda: False)
        assert text(remote) == "one two three"
        again = Reader(remote.feed)
        await owner.tell(owner.say(live_item(piece("four"))))
        await again.until(lambda: again.items)
        assert again.items == [{"kind": "live", "data": json.loads(piece("four"))}]


async def test_a_loss_with_nothing_after_it_is_noticed_by_asking_again(server: NatsServer):
    async with owned(server) as owner, followed(server, owner, renew=0.05) as (_, reader):
        await owner.event()
        await reader.until(lambda: reader.numbers == [1])


async def test_another_life_of_the_owner_is_joined_without_a_gap(server: NatsServer):
    async with owned(server) as owner, followed(server, owner) as (_, reader):
        await owner.tell(await owner.event())
        await reader.until(lambda: reader.numbers == [1])
        await owner.event()
        await owner.tell(owner.begin_anew("b"))
        await reader.until(lambda: reader.numbers == [1, 2])
        await owner.tell(await owner.event())
        await reader.until(lambda: reader.numbers == [1, 2, 3])


async def test_where_nobody_runs_it_there_is_the_record_until_somebody_does(server: NatsServer):
    log = MemoryEventLog()
    await log.append(ID, [NewEvent("changed", b"{}")] * 3)
    async with connected(server.url) as connection:
        owner = Owner(connection, log)
        async with followed(server, owner) as (remote, reader):
            assert (remote.seq, remote.live) == (3, False)
            await log.append(ID, [NewEvent("changed", b"{}")])
            remote.changed(RECORD)
            await reader.until(lambda: reader.numbers == [4])
            await owner.open()
            remote.changed(RECORD)
            await owner.until_asked(1)
            await owner.tell(await owner.event())
            await reader.until(lambda: reader.numbers == [4, 5])
            assert remote.live


async def test_an_owner_that_comes_or_goes_says_so_and_nobody_waits_for_the_next_request(server: NatsServer):
    log = MemoryEventLog()
    async with owned(server, "a", log) as first, followed(server, first, renew=3600) as (remote, reader):
        await first.tell(await first.event())
        await reader.until(lambda: reader.numbers == [1])
        await first.close()
        await first.event()
        await first.tell(Live("", 0))
        await reader.until(lambda: reader.numbers == [1, 2])
        assert not remote.live
        async with owned(server, "b", log) as second:
            await second.tell(Live("hello", 0))
            await second.until_asked(1)
            await second.tell(await second.event())
            await reader.until(lambda: reader.numbers == [1, 2, 3])


async def test_a_record_with_another_runner_is_a_reason_to_ask_and_any_other_is_not(server: NatsServer):
    async with owned(server) as owner, followed(server, owner) as (remote, _):
        remote.changed(SessionRecord(id=ID, cwd="/", created=1, changed=2, runner="r1", title="other"))
        assert (remote.record.title, remote.state()) == ("other", "starting")
        remote.changed(SessionRecord(id=ID, cwd="/", created=1, changed=3, runner="r2"))
        await owner.until_asked(2)
        await owner.settle()
        assert owner.asked == 2


async def test_an_owner_that_does_not_answer_leaves_the_record(server: NatsServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("handrail.bridge.cluster.following.remote_session.ANSWER_WITHIN", 0.1)
    async with owned(server) as owner:
        owner.answers = False
        await owner.event()
        async with followed(server, owner, renew=0.05) as (remote, reader):
            assert (remote.seq, remote.live) == (1, False)
            owner.answers = True
            await owner.event()
            await reader.until(lambda: reader.numbers == [2])
            assert remote.live


async def test_what_the_owner_has_and_the_record_has_not_yet_is_had_from_the_owner(server: NatsServer):
    async with owned(server) as owner:
        await owner.event()
        owner.own = [Event(2, 1, "changed", b"{}"), Event(3, 1, "changed", b"{}")]
        owner.seq = 3
        async with followed(server, owner) as (remote, reader):
            assert remote.seq == 3
            assert [one.seq for one in await remote.read(0)] == [1]
            assert await remote.read(1) == owner.own
            assert await remote.read(3) == []
            owner.own.append(Event(4, 1, "changed", b"{}"))
            owner.seq = 4
            await owner.tell(owner.begin_anew("b"))
            await reader.until(lambda: reader.numbers == [4])
            owner.problem = "the disk has failed"
            with pytest.raises(ClusterAway, match="r1: the disk has failed"):
                await remote.read(1)
            await owner.close()
            with pytest.raises(ClusterAway, match="exist only on r1"):
                await remote.read(1)
            await owner.log.append(ID, [NewEvent("changed", b"{}")] * 3)
            await owner.log.forget(ID)
            assert await remote.read(1) == [], "they are nowhere"


async def test_events_that_only_a_lost_machine_had_are_taken_back(server: NatsServer):
    log = MemoryEventLog()
    async with owned(server, "a", log) as first, followed(server, first) as (remote, reader):
        await first.tell(await first.event())
        first.seq = 2
        await first.tell(first.say(item(Event(2, 1, "changed", b"{}"))))
        await reader.until(lambda: reader.numbers == [1, 2])
        await first.close()
        async with owned(server, "b", log) as second:
            await second.tell(Live("hello", 0))
            with pytest.raises(CutOff, match="lost with their machine"):
                await reader.until(lambda: False)
            assert remote.seq == 1
            again = Reader(remote.feed)
            await second.until_asked(1)
            await second.tell(await second.event())
            await again.until(lambda: again.numbers == [2])


async def test_an_owner_that_has_less_than_the_record_is_asked_until_it_has_all(server: NatsServer):
    log = MemoryEventLog()
    await log.append(ID, [NewEvent("changed", b"{}")] * 2)
    async with connected(server.url) as connection:
        owner = Owner(connection, log)
        async with followed(server, owner) as (remote, reader):
            assert remote.seq == 2
            await owner.open()
            owner.seq = 1
            await owner.tell(Live("hello", 0))
            await owner.until_asked(2)
            assert not remote.live
            owner.seq = 2
            await owner.until_asked(owner.asked + 1)
            await owner.tell(await owner.event())
            await reader.until(lambda: reader.numbers == [3])


async def test_events_that_were_given_up_leave_a_hole_and_nobody_waits_for_them(server: NatsServer):
    async with owned(server) as owner, followed(server, owner) as (remote, reader):
        for _ in range(3):
            await owner.event()
        await owner.log.forget(ID, through=2)
        await owner.tell(await owner.event())
        await reader.until(lambda: reader.numbers == [3, 4])
        await owner.event()
        await owner.log.forget(ID)
        asked = owner.asked
        await owner.tell(owner.say())
        await owner.until_asked(asked + 1)
        await owner.tell(await owner.event())
        await reader.until(lambda: reader.numbers == [3, 4, 6])
        assert remote.seq == 6


async def test_who_has_missed_more_than_a_feed_holds_begins_anew(server: NatsServer):
    async with owned(server) as owner, followed(server, owner) as (remote, reader):
        for _ in range(12):
            await owner.event(text="x" * 500_000)
        await owner.tell(owner.begin_anew("b"))
        with pytest.raises(CutOff):
            await reader.until(lambda: len(reader.numbers) == 12)
        assert remote.seq == 12


async def test_what_cannot_be_read_is_passed_over(server: NatsServer, caplog: pytest.LogCaptureFixture):
    async with owned(server) as owner, followed(server, owner) as (_, reader):
        for bad in (b"", b"\xc1", b"\x91" * 3000, encode(owner.say(b'{"seq":')), encode(owner.say(b"[1]"))):
            await owner.connection.publish(live_subject(ID), bad)
        await owner.tell(await owner.event())
        await reader.until(lambda: reader.numbers == [1])
        assert caplog.text.count("malformed") == 5


async def test_nats_comes_back_and_what_happened_meanwhile_is_told_once(server: NatsServer):
    async with owned(server) as owner, followed(server, owner) as (_, reader):
        await owner.tell(await owner.event())
        await reader.until(lambda: reader.numbers == [1])
        await server.kill()
        await owner.event()
        await owner.event()
        await server.start()
        await reader.until(lambda: reader.numbers == [1, 2, 3])
        await owner.tell(await owner.event())
        await reader.until(lambda: reader.numbers == [1, 2, 3, 4])


async def test_without_nats_it_cannot_be_opened_and_leaves_nothing_behind(server: NatsServer):
    async with connected(server.url, pending_size=0) as connection:
        remote = RemoteSession(connection, MemoryEventLog(), RECORD)
        await connection.close()
        with pytest.raises(ClusterAway, match="cannot be followed"):
            await remote.open()


async def test_where_neither_owner_nor_record_can_be_asked_it_cannot_be_opened(server: NatsServer):
    async with connected(server.url) as connection:
        log = AwayLog()
        log.away = True
        remote = RemoteSession(connection, log, RECORD)
        with pytest.raises(ClusterAway, match="no majority"):
            await remote.open()
        await remote.close()


async def test_a_record_that_is_away_for_a_while_delays_what_is_missing_and_loses_nothing(server: NatsServer):
    log = AwayLog()
    async with owned(server, "a", log) as owner, followed(server, owner, renew=0.05) as (_, reader):
        await owner.event()
        log.away = True
        await owner.tell(await owner.event())
        await log.asked.wait()
        await owner.tell(await owner.event())
        log.away = False
        await reader.until(lambda: len(reader.numbers) == 3)
        assert reader.numbers == [1, 2, 3]


async def test_an_answer_that_cannot_be_read_is_none_and_is_asked_for_again(server: NatsServer):
    async with owned(server) as owner:
        owner.nonsense = b"\xc1"
        async with followed(server, owner, renew=0.05) as (remote, reader):
            assert not remote.live
            owner.nonsense = b""
            await owner.event()
            await reader.until(lambda: reader.numbers == [1])
            assert remote.live


async def test_an_owner_that_never_learns_what_is_on_record_is_not_followed(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("handrail.bridge.cluster.following.remote_session.PAUSE", 0.001)
    async with owned(server) as owner, followed(server, owner) as (remote, reader):
        await owner.tell(await owner.event())
        await reader.until(lambda: reader.numbers == [1])
        owner.life, owner.seq = "b", 0
        asked = owner.asked
        await owner.tell(Live("b", 0))
        await owner.until_asked(asked + 20)
        assert remote.seq == 1
        owner.seq = 1
        remote.look_again()
        await owner.until_asked(owner.asked + 1)
        await owner.tell(await owner.event())
        await reader.until(lambda: reader.numbers == [1, 2])


async def test_a_line_of_the_cli_may_be_anything(server: NatsServer):
    async with owned(server) as owner, followed(server, owner) as (remote, reader):
        odd = [b'"text"', b"[]", b'{"type":7}', b'{"type":"assistant"}', b'{"type":"result"}', b"1"]
        added = await owner.log.append(ID, [NewEvent("frame", data) for data in odd])
        owner.seq = added[-1].seq
        await owner.tell(owner.say(*map(item, added), live_item(b"null")))
        await reader.until(lambda: len(reader.items) == 7)
        assert remote.seq == 6


async def test_it_is_forgotten_when_nobody_has_looked_for_a_while(server: NatsServer):
    now = 100.0
    async with owned(server) as owner, connected(server.url) as connection:
        remote = RemoteSession(connection, owner.log, RECORD, clock=lambda: now)
        await remote.open()
        reader = Reader(remote.feed)
        now += 61
        assert not remote.is_forgettable()
        reader.close()
        assert remote.is_forgettable()
        remote.touched = now
        assert not remote.is_forgettable()
        await remote.close()


async def test_it_can_be_closed_at_any_moment_of_asking(server: NatsServer):
    async with owned(server) as owner, connected(server.url) as connection:
        for turns in range(60):
            remote = RemoteSession(connection, owner.log, RECORD)
            await remote.open()
            remote.look_again()
            if turns % 2:
                await owner.until_asked(owner.asked + 1)
            for _ in range(turns // 2):
                await asyncio.sleep(0)
            await remote.close()
