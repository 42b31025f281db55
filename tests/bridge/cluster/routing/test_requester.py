"""Requests to one machine and to all, without responders and without responses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio
from nats.aio.msg import Msg

from handrail.bridge.cluster.nats.address import parse_address
from handrail.bridge.cluster.nats.connection import NatsConnection
from handrail.bridge.cluster.nats.names import ALL_NODES
from handrail.bridge.cluster.routing.requester import NoResponder, Requester
from handrail.bridge.cluster.routing.requests import Do, Know, Known, decode, encode
from handrail.bridge.commands.router import Fetch, Fetched
from handrail.bridge.errors import ClusterAway
from handrail.testing import NatsServer

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
