"""Creation of streams and buckets: concurrent, repeatable, and careful with streams of other applications."""

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

from handrail.bridge.cluster.nats import names
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
    return connection.jetstream(timeout=10)


async def test_all_named_streams_are_created(js: JetStreamContext):
    await lay_out(js, 1)
    there = {info.config.name for info in await js.streams_info()}
    buckets = {f"KV_{name}" for name in names.BUCKETS}
    assert there == {*names.STREAMS, *buckets, f"OBJ_{names.TRANSCRIPTS}", f"OBJ_{names.UPLOADS}"}


async def test_events_stream_is_compressed_on_disk_with_large_messages(js: JetStreamContext):
    await lay_out(js, 1)
    config = (await js.stream_info(names.EVENTS)).config
    assert (config.storage, config.compression) == (StorageType.FILE, StoreCompression.S2)
    assert (config.max_msg_size, config.duplicate_window) == (LARGEST_MESSAGE, 120)
    assert config.allow_direct
    assert config.allow_msg_ttl


async def test_second_run_changes_nothing(js: JetStreamContext, connection: Client):
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


async def test_machines_may_create_streams_concurrently(server: NatsServer):
    connections = [await nats.connect(server.url) for _ in range(5)]
    await asyncio.gather(*(lay_out(one.jetstream(), 1) for one in connections))
    assert len(await connections[0].jetstream().streams_info()) == len(streams(1))
    for one in connections:
        await one.close()


async def test_nats_client_can_use_the_buckets_and_object_stores(js: JetStreamContext):
    await lay_out(js, 1)
    bucket = await js.key_value(names.SESSIONS)
    await bucket.put("k", b"v")
    assert (await bucket.get("k")).value == b"v"
    store = await js.object_store(names.TRANSCRIPTS)
    await store.put("t", b"x" * 300_000)
    assert (await store.get("t")).data == b"x" * 300_000


async def test_watcher_sees_an_expired_node_entry(js: JetStreamContext):
    await lay_out(js, 1)
    watch = await (await js.key_value(names.NODES)).watchall()
    async with asyncio.timeout(10):
        assert await watch.updates() is None
        await js.publish(f"$KV.{names.NODES}.a", b"{}", msg_ttl=1.0)
        told = [await watch.updates(), await watch.updates()]
    assert [entry.operation for entry in told if entry] == [None, "PURGE"]
    await watch.stop()


async def test_differences_are_corrected_and_administrator_limits_kept(js: JetStreamContext):
    older = replace(streams(1)[0], compression=StoreCompression.NONE, max_msg_size=1000, max_bytes=10**9)
    await js.add_stream(older)
    await lay_out(js, 1)
    config = (await js.stream_info(names.EVENTS)).config
    assert (config.compression, config.max_msg_size) == (StoreCompression.S2, LARGEST_MESSAGE)
    assert config.max_bytes == 10**9


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (StreamConfig(name=names.EVENTS, subjects=["orders.>"]), "subjects is orders.>, not handrail.events.*"),
        (replace(streams(1)[0], storage=StorageType.MEMORY), "storage is memory, not file"),
        (StreamConfig(name="other", subjects=["handrail.>"]), "NATS rejected stream handrail-events: subjects over"),
    ],
)
async def test_stream_of_another_application_is_reported_and_left_alone(
    js: JetStreamContext, config: StreamConfig, text: str
):
    await js.add_stream(config)
    with pytest.raises(ClusterRefused, match=text):
        await lay_out(js, 1)


async def test_more_replicas_than_servers_are_rejected(js: JetStreamContext):
    with pytest.raises(ClusterRefused, match="replicas"):
        await lay_out(js, 3)


async def test_unresponsive_servers_raise_cluster_away(server: NatsServer, connection: Client):
    server.pause()
    with pytest.raises(ClusterAway, match="no response from NATS"):
        await lay_out(connection.jetstream(timeout=0.2), 1)
    server.resume()
