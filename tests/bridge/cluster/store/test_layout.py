"""What must be there on NATS: made once by many, mended where it differs, refused in words where it is another's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import StorageType, StoreCompression, StreamConfig

from handrail.bridge.cluster import names
from handrail.bridge.cluster.store.layout import LARGEST_MESSAGE, lay_out, streams
from handrail.bridge.errors import ClusterAway, ClusterRefused
from handrail.testing import NatsServer


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[NatsServer]:
    async with NatsServer(tmp_path / "nats") as server:
        yield server


@pytest.fixture
async def connection(server: NatsServer) -> AsyncGenerator[Client]:
    connection = await nats.connect(server.url)
    yield connection
    await connection.close()


@pytest.fixture
def js(connection: Client) -> JetStreamContext:
    return connection.jetstream(timeout=2)


async def test_everything_that_has_a_name_is_there_afterwards(js: JetStreamContext):
    await lay_out(js, 1)
    there = {info.config.name for info in await js.streams_info()}
    buckets = {f"KV_{name}" for name in names.BUCKETS}
    assert there == {*names.STREAMS, *buckets, f"OBJ_{names.TRANSCRIPTS}", f"OBJ_{names.UPLOADS}"}


async def test_events_are_on_disk_compressed_and_of_any_size_that_a_message_may_have(js: JetStreamContext):
    await lay_out(js, 1)
    config = (await js.stream_info(names.EVENTS)).config
    assert (config.storage, config.compression) == (StorageType.FILE, StoreCompression.S2)
    assert (config.max_msg_size, config.duplicate_window) == (LARGEST_MESSAGE, 120)
    assert config.allow_direct
    assert config.allow_msg_ttl


async def test_asking_again_changes_nothing(js: JetStreamContext, connection: Client):
    await lay_out(js, 1)
    before = [info.config for info in await js.streams_info()]
    await js.publish("handrail.events.s", b"kept")
    asked = await connection.subscribe("$JS.API.STREAM.*.>")
    await lay_out(js, 1)
    subjects = [(await asked.next_msg()).subject for _ in streams(1)]
    assert {subject.split(".")[3] for subject in subjects} == {"INFO"}
    assert asked.pending_msgs == 0
    assert [info.config for info in await js.streams_info()] == before
    assert (await js.get_last_msg(names.EVENTS, "handrail.events.s")).data == b"kept"


async def test_many_nodes_may_ask_at_once(server: NatsServer):
    connections = [await nats.connect(server.url) for _ in range(5)]
    await asyncio.gather(*(lay_out(one.jetstream(), 1) for one in connections))
    assert len(await connections[0].jetstream().streams_info()) == len(streams(1))
    for one in connections:
        await one.close()


async def test_buckets_and_object_stores_are_what_a_client_of_nats_takes_for_one(js: JetStreamContext):
    await lay_out(js, 1)
    bucket = await js.key_value(names.SESSIONS)
    await bucket.put("k", b"v")
    assert (await bucket.get("k")).value == b"v"
    store = await js.object_store(names.TRANSCRIPTS)
    await store.put("t", b"x" * 300_000)
    assert (await store.get("t")).data == b"x" * 300_000


async def test_an_entry_of_a_node_lapses_and_whoever_watches_is_told(js: JetStreamContext):
    await lay_out(js, 1)
    watch = await (await js.key_value(names.NODES)).watchall()
    async with asyncio.timeout(10):
        assert await watch.updates() is None
        await js.publish(f"$KV.{names.NODES}.a", b"{}", msg_ttl=1.0)
        told = [await watch.updates(), await watch.updates()]
    assert [entry.operation for entry in told if entry] == [None, "PURGE"]
    await watch.stop()


async def test_what_differs_is_mended_and_what_an_administrator_added_stays(js: JetStreamContext):
    older = replace(streams(1)[0], compression=StoreCompression.NONE, max_msg_size=1000, max_bytes=10**9)
    await js.add_stream(older)
    await lay_out(js, 1)
    config = (await js.stream_info(names.EVENTS)).config
    assert (config.compression, config.max_msg_size) == (StoreCompression.S2, LARGEST_MESSAGE)
    assert config.max_bytes == 10**9


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (StreamConfig(name=names.EVENTS, subjects=["orders.>"]), "its subjects is orders.>, not handrail.events.*"),
        (replace(streams(1)[0], storage=StorageType.MEMORY), "its storage is memory, not file"),
        (StreamConfig(name="other", subjects=["handrail.>"]), "NATS refuses the stream handrail-events: subjects over"),
    ],
)
async def test_a_stream_of_somebody_else_is_left_alone_and_said_in_words(
    js: JetStreamContext, config: StreamConfig, text: str
):
    await js.add_stream(config)
    with pytest.raises(ClusterRefused, match=text):
        await lay_out(js, 1)


async def test_more_copies_than_servers_are_refused_in_words(js: JetStreamContext):
    with pytest.raises(ClusterRefused, match="replicas"):
        await lay_out(js, 3)


async def test_servers_that_do_not_answer_are_away(server: NatsServer, connection: Client):
    server.pause()
    with pytest.raises(ClusterAway, match="does not answer"):
        await lay_out(connection.jetstream(timeout=0.2), 1)
    server.resume()
