"""The ordered stream reader notices every missing message."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from nats.aio.client import Client

from handrail.bridge.cluster.nats import names
from handrail.bridge.cluster.store.stream_reader import StreamReader
from handrail.bridge.errors import ClusterAway
from tests.bridge.shared_nats import connected

SUBJECT = "handrail.events.s"


@pytest.fixture
async def connection() -> AsyncGenerator[Client]:
    async with connected(empty=names.STREAMS) as connection:
        yield connection


async def inbox_of(connection: Client) -> str:
    """The deliver subject of the only consumer of the stream."""
    (reader,) = [one for one in await connection.jetstream().consumers_info(names.EVENTS) if one.push_bound]
    assert reader.config.deliver_subject
    return reader.config.deliver_subject


async def test_messages_arrive_in_order_with_the_remaining_count(connection: Client):
    js = connection.jetstream()
    for n in range(50):
        await js.publish(SUBJECT, b"%d" % n)
        await js.publish("handrail.events.t", b"another")
    async with asyncio.timeout(20), StreamReader(js, names.EVENTS, SUBJECT) as reader:
        assert reader.total == 50
        heard = aiter(reader)
        found = [await anext(heard) for _ in range(50)]
    assert [message.data for message in found] == [b"%d" % n for n in range(50)]
    assert [message.left for message in found] == list(range(49, -1, -1))
    async with asyncio.timeout(20), StreamReader(js, names.EVENTS, SUBJECT, after=found[9].place) as reader:
        assert (await anext(aiter(reader))).data == b"10"
    async with asyncio.timeout(20), StreamReader(js, names.EVENTS, "handrail.events.*", newest=True) as reader:
        heard = aiter(reader)
        assert [(await anext(heard)).data for _ in range(reader.total)] == [b"49", b"another"]


async def test_flow_control_lets_many_megabytes_through(connection: Client):
    js = connection.jetstream()
    await asyncio.gather(*(js.publish(SUBJECT, b"%4d" % n + b"x" * 400_000) for n in range(100)))
    async with asyncio.timeout(20), StreamReader(js, names.EVENTS, SUBJECT) as reader:
        heard = aiter(reader)
        assert len({(await anext(heard)).data[:4] for _ in range(100)}) == 100


@pytest.mark.parametrize("reply", ["", "anything"])
async def test_message_from_outside_the_stream_is_noticed(connection: Client, reply: str):
    js = connection.jetstream()
    await js.publish(SUBJECT, b"1")
    async with asyncio.timeout(20), StreamReader(js, names.EVENTS, SUBJECT) as reader:
        heard = aiter(reader)
        assert (await anext(heard)).data == b"1"
        await connection.publish(await inbox_of(connection), b"2", reply=reply)
        with pytest.raises(ClusterAway, match="not a JetStream message"):
            await anext(heard)


async def test_message_lost_before_a_heartbeat_is_noticed(connection: Client):
    js = connection.jetstream()
    async with asyncio.timeout(20), StreamReader(js, names.EVENTS, SUBJECT) as reader:
        headers = {"Status": "100", "Description": "Idle Heartbeat", "Nats-Last-Consumer": "3"}
        await connection.publish(await inbox_of(connection), headers=headers)
        with pytest.raises(ClusterAway, match="lost in transit"):
            await anext(aiter(reader))


async def test_reader_with_timeout_does_not_wait_forever(connection: Client):
    js = connection.jetstream()
    async with asyncio.timeout(20), StreamReader(js, names.EVENTS, SUBJECT, timeout=0.0) as reader:
        with pytest.raises(ClusterAway, match="lacks messages"):
            await anext(aiter(reader))


async def test_missing_stream_is_reported(connection: Client):
    with pytest.raises(ClusterAway, match="none: stream not found"):
        await StreamReader(connection.jetstream(), "none", SUBJECT).__aenter__()
