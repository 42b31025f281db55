"""The messages of a stream in order: whoever reads notices when one is missing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from nats.aio.client import Client

from handrail.bridge.cluster import names
from handrail.bridge.cluster.store.messages import Messages
from handrail.bridge.errors import ClusterAway
from tests.bridge.shared_nats import connected

SUBJECT = "handrail.events.s"


@pytest.fixture
async def connection() -> AsyncGenerator[Client]:
    async with connected(empty=names.STREAMS) as connection:
        yield connection


async def inbox_of(connection: Client) -> str:
    """Where the server sends what the reader of the stream is to get."""
    (reader,) = [one for one in await connection.jetstream().consumers_info(names.EVENTS) if one.push_bound]
    assert reader.config.deliver_subject
    return reader.config.deliver_subject


async def test_everything_comes_in_order_with_how_much_is_left(connection: Client):
    js = connection.jetstream()
    for n in range(50):
        await js.publish(SUBJECT, b"%d" % n)
        await js.publish("handrail.events.t", b"another")
    async with asyncio.timeout(20), Messages(js, names.EVENTS, SUBJECT) as reader:
        assert reader.total == 50
        heard = aiter(reader)
        found = [await anext(heard) for _ in range(50)]
    assert [message.data for message in found] == [b"%d" % n for n in range(50)]
    assert [message.left for message in found] == list(range(49, -1, -1))
    async with asyncio.timeout(20), Messages(js, names.EVENTS, SUBJECT, after=found[9].place) as reader:
        assert (await anext(aiter(reader))).data == b"10"
    async with asyncio.timeout(20), Messages(js, names.EVENTS, "handrail.events.*", newest=True) as reader:
        heard = aiter(reader)
        assert [(await anext(heard)).data for _ in range(reader.total)] == [b"49", b"another"]


async def test_many_megabytes_come_through(connection: Client):
    js = connection.jetstream()
    await asyncio.gather(*(js.publish(SUBJECT, b"%4d" % n + b"x" * 400_000) for n in range(100)))
    async with asyncio.timeout(20), Messages(js, names.EVENTS, SUBJECT) as reader:
        heard = aiter(reader)
        assert len({(await anext(heard)).data[:4] for _ in range(100)}) == 100


@pytest.mark.parametrize("reply", ["", "anything"])
async def test_a_message_that_is_not_of_the_stream_is_noticed(connection: Client, reply: str):
    js = connection.jetstream()
    await js.publish(SUBJECT, b"1")
    async with asyncio.timeout(20), Messages(js, names.EVENTS, SUBJECT) as reader:
        heard = aiter(reader)
        assert (await anext(heard)).data == b"1"
        await connection.publish(await inbox_of(connection), b"2", reply=reply)
        with pytest.raises(ClusterAway, match="not a JetStream message"):
            await anext(heard)


async def test_one_that_was_lost_before_a_sign_of_life_is_noticed(connection: Client):
    js = connection.jetstream()
    async with asyncio.timeout(20), Messages(js, names.EVENTS, SUBJECT) as reader:
        headers = {"Status": "100", "Description": "Idle Heartbeat", "Nats-Last-Consumer": "3"}
        await connection.publish(await inbox_of(connection), headers=headers)
        with pytest.raises(ClusterAway, match="lost on its way"):
            await anext(aiter(reader))


async def test_whoever_knows_that_there_is_more_does_not_wait_for_ever(connection: Client):
    js = connection.jetstream()
    async with asyncio.timeout(20), Messages(js, names.EVENTS, SUBJECT, patience=0.0) as reader:
        with pytest.raises(ClusterAway, match="does not have all yet"):
            await anext(aiter(reader))


async def test_a_stream_that_is_not_there_is_said(connection: Client):
    with pytest.raises(ClusterAway, match="none: stream not found"):
        await Messages(connection.jetstream(), "none", SUBJECT).__aenter__()
