"""Requests between machines: their encoding, sending them, and answering them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio
from nats.aio.msg import Msg
from nats.js.api import ConsumerConfig

from handrail.bridge.cluster.nats import names
from handrail.bridge.cluster.nats.address import parse_address
from handrail.bridge.cluster.nats.connection import NatsConnection
from handrail.bridge.cluster.nats.names import ALL_NODES
from handrail.bridge.cluster.routing.requests import (
    Do,
    Know,
    Knowledge,
    Known,
    NoResponder,
    Requester,
    Responder,
    decode,
    decode_fetched,
    decode_known,
    encode,
)
from handrail.bridge.cluster.store.layout import lay_out
from handrail.bridge.commands.router import Fetch, Fetched
from handrail.bridge.errors import ClusterAway
from handrail.testing import NatsServer
from tests.bridge.cluster.initialized_cluster import TIMEOUT, initialized_cluster
from tests.bridge.stage import SCOPES, one_server

REQUESTS = [
    Do("d/1", "Ann's phone", ["prompt", "view"], "send", b'{"text":"\xc3\xa9"}'),
    Fetch("GET", "/api/sessions/x/files", [("path", "a b")], "d", "Ann", ["prompt"]),
    Know("search", {"words": "harbour", "limit": 5, "session": None}),
]


@pytest.mark.parametrize("message", REQUESTS, ids=lambda one: type(one).__name__)
def test_request_round_trip(message: Do | Fetch | Know):
    assert decode(encode(message)) == message


def test_response_round_trip():
    fetched, known = Fetched(404, [("content-type", "text/plain")], b"\x00\xff", True), Known("box", [{"a": 1}])
    assert decode_fetched(encode(fetched)) == fetched
    assert decode_known(encode(known)) == known


@pytest.mark.parametrize("data", [b"", b"{}", b"\xc1", msgspec.msgpack.encode({"type": "Delete"}), b"\x91" * 3000])
def test_malformed_request_is_rejected(data: bytes):
    with pytest.raises((msgspec.MsgspecError, RecursionError)):
        decode(data)


DO = Do("d/1", "Ann", ["prompt"], "send", b"{}")
FETCH = Fetch("GET", "/api/x", [], "d", "Ann", ["view"])


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncGenerator[NatsServer]:
    async with NatsServer(tmp_path / "nats") as server:
        yield server


@pytest_asyncio.fixture
async def link(server: NatsServer) -> AsyncGenerator[NatsConnection]:
    async with NatsConnection(parse_address(server.url), "box", role="both") as link:
        await link.until_up(30)
        yield link


async def test_request_is_answered_and_missing_responder_is_reported(link: NatsConnection):
    async def answer(message: Msg) -> None:
        assert decode(message.data) == DO
        await message.respond(b"done")

    await link.nats.subscribe("box.1", cb=answer)
    asking = Requester(link.nats)
    assert await asking.request("box.1", DO, seconds=30) == b"done"
    with pytest.raises(NoResponder):
        await asking.request("box.2", DO, seconds=30)
    with pytest.raises(NoResponder):
        await asking.fetch("box.2", FETCH)


async def test_unanswered_request_times_out(link: NatsConnection):
    heard: list[Msg] = []

    async def keep(message: Msg) -> None:
        heard.append(message)

    await link.nats.subscribe("box.1", cb=keep)
    with pytest.raises(TimeoutError):
        await Requester(link.nats).request("box.1", DO, seconds=0.2)
    assert len(heard) == 1


async def test_long_response_is_reassembled(link: NatsConnection):
    pieces = [b"a" * 600_000, b"b" * 600_000, b"c"]

    async def answer(message: Msg) -> None:
        for n, piece in enumerate(pieces, 1):
            head = [("content-type", "text/plain")] if n == 1 else []
            await message.respond(encode(Fetched(206, head, piece, n < len(pieces))))

    await link.nats.subscribe("box.1", cb=answer)
    found = await Requester(link.nats).fetch("box.1", FETCH)
    assert found == Fetched(206, [("content-type", "text/plain")], b"".join(pieces))


async def test_malformed_responses_to_a_broadcast_are_ignored(link: NatsConnection):
    async def answer(message: Msg) -> None:
        await message.respond(b"\xc1")
        for name in ("one", "two"):
            await message.respond(encode(Known(name, [name])))

    await link.nats.subscribe(ALL_NODES, cb=answer)
    found = await Requester(link.nats).broadcast(Know("search"), {"one", "two"})
    assert found == [Known("one", ["one"]), Known("two", ["two"])]
    assert await Requester(link.nats).broadcast(Know("search"), set()) == []


async def test_request_without_nats_raises_cluster_away(link: NatsConnection, server: NatsServer):
    down = asyncio.Event()
    link.on_down.append(down.set)
    await server.kill()
    await asyncio.wait_for(down.wait(), 30)
    for asks in (Requester(link.nats).request("x", DO, seconds=30), Requester(link.nats).fetch("x", FETCH)):
        with pytest.raises(ClusterAway, match="NATS is unreachable"):
            await asks


async def test_request_above_the_payload_limit_is_rejected(link: NatsConnection):
    with pytest.raises(ClusterAway, match="exceeds the payload limit"):
        await Requester(link.nats).request("x", Do("k", "b", [], "send", b"x" * 9_000_000), seconds=30)


def start(key: str, folder: Path) -> bytes:
    fields = msgspec.json.encode({"cwd": str(folder)})
    return encode(Do(key, "Ann", sorted(SCOPES), "start", fields))


class ReplayLogged(logging.Handler):
    """Sets `seen` when the rejection of a replayed message is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if "replayed as a request" in record.getMessage():
            self.seen.set()


async def test_message_delivered_by_jetstream_is_not_a_request(tmp_path: Path) -> None:
    """A runner can store any bytes as an event and let a consumer deliver them to any subject."""
    async with (
        asyncio.timeout(TIMEOUT),
        initialized_cluster(tmp_path / "c") as cluster,
        cluster.connect("gateway") as gateway,
        cluster.connect("runner") as good,
        cluster.connect("runner") as bad,
        one_server(tmp_path / "stage") as on,
    ):
        handler = ReplayLogged()
        logging.getLogger("handrail.bridge").addHandler(handler)
        for link in (gateway, good, bad):
            await link.until_up(TIMEOUT)
        await lay_out(gateway.js, 1)
        responder = Responder(
            good.nats,
            "good",
            do=on.bridge.commands.do_here,
            knowledge=Knowledge(on.bridge.router),
            answer_fetch=on.bridge._answer_fetch,
        )
        await responder.open()
        await good.nats.flush()
        await bad.js.publish(names.events_subject("s"), start("forged", tmp_path / "stage"))
        delivered = ConsumerConfig(deliver_subject=names.node_subject("good"))
        await bad.js.add_consumer(names.EVENTS, delivered)
        await handler.seen.wait()
        assert await on.bridge.sessions.index.list() == []
        asked = await gateway.nats.request(
            names.node_subject("good"), start("true", tmp_path / "stage"), timeout=TIMEOUT
        )
        assert b'"ok":true' in asked.data
        assert len(await on.bridge.sessions.index.list()) == 1
        await responder.close()
    logging.getLogger("handrail.bridge").removeHandler(handler)
