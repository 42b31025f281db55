"""Status of a cluster: machines with their leases, streams with their replicas, and warnings."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from handrail.bridge.cluster.leases.lease import Node
from handrail.bridge.cluster.nats.address import parse_address
from handrail.bridge.cluster.nats.connection import NatsConnection
from handrail.bridge.cluster.nats.names import EVENTS, NODES, bucket_subject, events_subject, proof_subject
from handrail.bridge.cluster.setup.roles import ALL_STREAMS
from handrail.bridge.cluster.status import Status, cluster_status, role_of
from handrail.bridge.cluster.store.layout import lay_out
from handrail.bridge.errors import ClusterAway, ClusterRefused
from handrail.testing import NatsCluster, NatsServer

TIMEOUT = 40


async def announce(connection: NatsConnection, node: Node) -> None:
    subject = bucket_subject(NODES, node.name)
    await connection.js.publish(subject, msgspec.json.encode(node), msg_ttl=15.0)


async def test_status_lists_machines_and_streams(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(TIMEOUT),
        NatsServer(tmp_path / "n") as server,
        NatsConnection(parse_address(server.url), "a", role="both") as connection,
    ):
        await connection.until_up(TIMEOUT)
        before = await cluster_status(connection)
        assert (before.up, before.nodes, before.streams) == (True, [], [])
        assert [line for line in before.alarms if "the first gateway that connects creates them" in line]
        await lay_out(connection.js, 1)
        await announce(
            connection, Node(name="box-2", boot="b", roots=["/srv"], sessions=3, most_sessions=8, behind=5000)
        )
        await announce(connection, Node(name="box.1", boot="a", address="http://127.0.0.1:8787", runs=False))
        await connection.js.publish(proof_subject(NODES, "box-2"), b"x")
        await connection.js.publish(bucket_subject(NODES, "strange"), b"{")
        await connection.js.publish(events_subject("s"), b"12345")
        found = await cluster_status(connection, me="box.1", alarms=["the disk is full"])
        assert [(one.name, role_of(one), one.sessions) for one in found.nodes] == [
            ("box-2", "runner", 3),
            ("box.1", "gateway", 0),
        ]
        assert all(0 <= one.age < TIMEOUT for one in found.nodes)
        assert {one.name for one in found.streams} == set(ALL_STREAMS)
        events = next(one for one in found.streams if one.name == EVENTS)
        assert (events.messages, events.replicas, events.away) == (1, 1, 0)
        assert events.bytes > 0
        assert found.alarms == ["the disk is full", "box-2 has 5,000 events that are not in NATS yet"]
        assert msgspec.json.decode(msgspec.json.encode(found), type=Status) == found


async def test_known_machines_are_reported_while_nats_is_down(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(TIMEOUT),
        NatsServer(tmp_path / "n") as server,
        NatsConnection(parse_address(server.url), "a", role="both") as connection,
    ):
        await connection.until_up(TIMEOUT)
        down = asyncio.Event()
        connection.on_down.append(down.set)
        await server.kill()
        await down.wait()
        found = await cluster_status(connection, [Node(name="a", boot="b", labels=["gpu"])], me="a")
        assert not found.up
        assert [(one.name, one.labels) for one in found.nodes] == [("a", ["gpu"])]
        assert found.streams == []
        assert [line for line in found.alarms if line.startswith("NATS does not answer")]


@pytest.mark.campaign
async def test_offline_replica_is_reported(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(TIMEOUT),
        NatsCluster(tmp_path) as cluster,
        NatsConnection(parse_address(",".join(cluster.urls)), "a", role="both") as connection,
    ):
        await connection.until_up(TIMEOUT)
        await create_streams(connection)
        found = await cluster_status(connection)
        assert {(one.replicas, one.away) for one in found.streams} == {(3, 0)}
        assert all(one.leader for one in found.streams)
        port = connection.nats.connected_url.port if connection.nats.connected_url else 0
        await next(one for one in cluster.servers if one.port != port).kill()
        while not any("replicas are offline" in line for line in found.alarms):
            found = await cluster_status(connection)
            await asyncio.sleep(0.1)  # a replica counts as offline after three seconds of silence
        assert [one for one in found.streams if one.away == 1]


async def create_streams(connection: NatsConnection) -> None:
    """Create the streams; servers that have just formed a cluster do not answer at once."""
    while True:
        try:
            return await lay_out(connection.js, 3)
        except (ClusterAway, ClusterRefused):
            await asyncio.sleep(0.1)
