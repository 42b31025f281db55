"""The relay of the owner answers requests and publishes the feed only while other machines follow."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import NoRespondersError

from handrail.bridge.cluster.following.live import Answer, Ask, Live, Page, encode, read_answer, read_live, read_page
from handrail.bridge.cluster.following.relay import Relay
from handrail.bridge.cluster.nats.names import follow_subject, live_subject
from handrail.bridge.session.events import event, live_item
from handrail.bridge.session.host import SessionHost
from handrail.bridge.store.base import NewEvent
from handrail.testing import NatsServer
from tests.bridge.cluster.remote_stage import connected
from tests.bridge.stage import stage
from tests.client.scripted_cli import write_cli

Json = dict[str, Any]
SILENT = "prompt()"
START = {"type": "message_start", "message": {"id": "m"}}
BLOCK = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}


def piece(text: str) -> Json:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


def stream(host: SessionHost, *events: Json) -> None:
    """Publish stream events as if the CLI had just sent them."""
    lines = [json.dumps({"type": "stream_event", "event": one}).encode() for one in events]
    for raw in lines:
        host.partial.take(raw)
    host.feed.publish([live_item(raw) for raw in lines])


class Listener:
    """Another machine, which sends requests and receives live messages."""

    def __init__(self, connection: Client, session: str) -> None:
        self._connection, self._session = connection, session
        self.received: list[Live] = []
        self._more = asyncio.Event()

    async def open(self) -> None:
        await self._connection.subscribe(live_subject(self._session), cb=self._receive)
        for _ in range(2):  # the first flush may overtake the subscription
            await self._connection.flush()

    async def _receive(self, message: Msg) -> None:
        self.received.append(read_live(message.data))
        self._more.set()

    async def wait_until_open(self) -> None:
        """Wait for the announcement of the relay."""
        await self.until(1)
        self.received.clear()

    async def ask(self, **ask: Any) -> Answer:
        reply = await self._connection.request(follow_subject(self._session), encode(Ask(**ask)), timeout=10)
        return read_answer(reply.data)

    async def page(self, after: int, most_bytes: int = 2**20) -> Page:
        ask = encode(Ask(after=after, most_bytes=most_bytes))
        return read_page((await self._connection.request(follow_subject(self._session), ask, timeout=10)).data)

    async def until(self, count: int) -> list[Live]:
        """Wait for this many messages."""
        while len(self.received) < count:
            self._more.clear()
            await self._more.wait()
        return self.received

    @property
    def items(self) -> list[Json]:
        return [one for live in self.received for one in json.loads(b"[%s]" % live.items)]


@asynccontextmanager
async def relaying(folder: Path, **options: Any) -> AsyncGenerator[tuple[SessionHost, Relay, Listener]]:
    cli = write_cli(folder, SILENT)
    async with stage(folder, cli) as on, NatsServer(folder / "nats") as server:
        host = await on.host(await on.start())
        async with connected(server.url) as here, connected(server.url) as there:
            relay, listener = Relay(here, host, **options), Listener(there, host.record.id)
            await listener.open()
            await relay.open()
            await listener.wait_until_open()
            yield host, relay, listener
            await relay.close()


async def test_live_messages_continue_from_the_answer_within_a_block(tmp_path: Path):
    async with relaying(tmp_path) as (host, _, listener):
        stream(host, START, BLOCK, piece("one "), piece("two "))
        answer = await listener.ask()
        assert (answer.count, answer.seq) == (0, host.seq)
        assert [json.loads(raw)["event"] for raw in answer.so_far] == [START, BLOCK, piece("one two ")]
        stream(host, piece("three"))
        await host.record_events([event("changed", title="t")])
        stream(host, piece("four"))
        second = await listener.ask()
        assert (second.life, second.seq) == (answer.life, host.seq)
        received = await listener.until(second.count)
        assert [live.count for live in received] == list(range(1, second.count + 1))
        assert {live.life for live in received} == {answer.life}
        published = [one.get("seq") or one["data"]["event"]["delta"]["text"] for one in listener.items]
        assert published == ["three", host.seq, "four"]
        assert [json.loads(raw)["event"] for raw in second.so_far[2:]] == [piece("one two "), piece("threefour")]


async def test_up_to_date_follower_does_not_get_the_block_again(tmp_path: Path):
    async with relaying(tmp_path) as (host, _, listener):
        stream(host, START, BLOCK, piece("one"))
        answer = await listener.ask()
        assert (await listener.ask(life=answer.life, count=answer.count)).so_far == ()
        assert (await listener.ask(life="another", count=answer.count)).so_far == answer.so_far


async def test_items_before_a_request_are_published_before_its_answer(tmp_path: Path):
    async with relaying(tmp_path) as (host, _, listener):
        first = await listener.ask()
        for n in range(200):
            stream(host, piece(str(n)))
            if n % 50 == 0:
                answer = await listener.ask()
                assert listener.received[-1].count == answer.count, "the answer does not overtake live messages"
        answer = await listener.ask()
        assert answer.life == first.life
        published = [one["data"]["event"]["delta"]["text"] for one in listener.items]
        assert published == [str(n) for n in range(200)]


async def test_without_requests_nothing_is_published(tmp_path: Path):
    async with relaying(tmp_path, valid_for=0.05) as (host, relay, listener):
        assert relay.quiet.is_set()
        assert not host.feed.followers
        first = await listener.ask()
        assert len(host.feed.followers) == 1
        await relay.quiet.wait()
        assert not host.feed.followers
        stream(host, piece("not received"))
        second = await listener.ask()
        assert second.life != first.life
        assert listener.received == []


async def test_repeated_request_extends_the_expiry(tmp_path: Path):
    async with relaying(tmp_path) as (_, relay, listener):
        first = await listener.ask()
        before = relay._expiry
        assert (await listener.ask()).life == first.life
        assert before is not None
        assert relay._expiry is not None
        assert before.cancelled()
        assert relay._expiry.when() > before.when()


async def test_cut_feed_starts_and_announces_a_new_life(tmp_path: Path):
    async with relaying(tmp_path) as (host, _, listener):
        first = await listener.ask()
        host.feed.cut("the store has failed")
        (hello,) = await listener.until(1)
        assert hello.life != first.life
        assert (hello.count, hello.items) == (0, b"")
        stream(host, piece("on"))
        assert (await listener.until(2))[1].life == hello.life
        assert len(host.feed.followers) == 1


async def test_every_message_fits_the_default_payload_limit(tmp_path: Path):
    async with relaying(tmp_path) as (host, _, listener):
        await listener.ask()
        sizes = (100, 700_000, 500_000, 510_000, 1_500_000, 3, *[60_000] * 20)
        await host.record_events([NewEvent("frame", json.dumps("x" * size).encode()) for size in sizes])
        answer = await listener.ask()
        received = await listener.until(answer.count)
        assert [one["seq"] for one in listener.items] == list(range(host.seq - len(sizes) + 1, host.seq + 1))
        assert max(len(encode(live)) for live in received) < 2**20


async def test_block_too_long_for_an_answer_is_truncated(tmp_path: Path):
    async with relaying(tmp_path) as (host, _, listener):
        stream(host, START, BLOCK, piece("x" * 6_000_000))
        answer = await listener.ask()
        assert json.loads(answer.so_far[0])["event"] == START
        assert 3_000_000 < sum(map(len, answer.so_far)) <= 4 * 1024 * 1024


async def test_owner_serves_pages_of_events(tmp_path: Path):
    async with relaying(tmp_path) as (host, relay, listener):
        await host.record_events([event("changed", title=str(n)) for n in range(5)])
        page = await listener.page(host.seq - 2)
        assert list(page.events) == await host.read(host.seq - 2)
        assert len((await listener.page(0, most_bytes=1)).events) == 1
        assert (await listener.page(host.seq)) == Page()
        assert relay.quiet.is_set(), "reading pages is not following"
        await host.record_events([NewEvent("frame", json.dumps("x" * 9_000_000).encode())])
        assert "exceeds the payload limit of NATS" in (await listener.page(host.seq - 1)).problem


async def test_store_failure_is_reported_in_the_page(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, SILENT)) as on, NatsServer(tmp_path / "nats") as server:
        host = await on.host(await on.start())
        async with connected(server.url) as here, connected(server.url) as there:
            relay, listener = Relay(here, host), Listener(there, host.record.id)
            await listener.open()
            await relay.open()
            await listener.wait_until_open()
            await on.bridge.database.execute("ALTER TABLE event RENAME TO moved")
            page = await listener.page(0)
            assert page.events == ()
            assert "handrail.db" in page.problem
            await on.bridge.database.execute("ALTER TABLE moved RENAME TO event")
            await relay.close()


async def test_malformed_request_is_ignored(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    async with relaying(tmp_path) as (host, _, listener):
        for bad in (b"", b"\xc1", b"{}", encode(Ask())[:-1], b"\x91" * 2000):
            await listener._connection.publish(follow_subject(host.record.id), bad)
        assert (await listener.ask()).seq == host.seq
        assert caplog.text.count("malformed") == 5


async def test_closed_relay_notifies_followers_and_stops_answering(tmp_path: Path):
    async with relaying(tmp_path) as (host, relay, listener):
        await listener.ask()
        await relay.close()
        assert (await listener.until(1)) == [Live("", 0)]
        assert not host.feed.followers
        with pytest.raises(NoRespondersError):
            await listener.ask()


async def test_relay_continues_in_a_new_life_after_a_server_restart(tmp_path: Path):
    cli = write_cli(tmp_path, SILENT)
    async with stage(tmp_path, cli) as on, NatsServer(tmp_path / "nats") as server:
        host = await on.host(await on.start())
        down, up = asyncio.Event(), asyncio.Event()

        async def lost() -> None:
            down.set()

        async def back() -> None:
            up.set()

        one, other = (
            connected(server.url, pending_size=0, disconnected_cb=lost),
            connected(server.url, reconnected_cb=back),
        )
        async with one as here, other as there:
            relay, listener = Relay(here, host), Listener(there, host.record.id)
            await listener.open()
            await relay.open()
            await listener.wait_until_open()
            first = await listener.ask()
            await server.kill()
            await down.wait()
            stream(host, piece("lost"))
            await server.start()
            await up.wait()
            while not listener.items:
                stream(host, piece("on"))
                await listener.until(len(listener.received) + 1)
            assert first.life not in {live.life for live in listener.received}
            assert listener.received[-1].life == (await listener.ask()).life
            await relay.close()
