"""How a cluster is, as NATS tells it: machines with their leases, streams with their copies, and what is not well."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from handrail.bridge.cluster.founding.roles import OUR_STREAMS
from handrail.bridge.cluster.leases.records import Node
from handrail.bridge.cluster.link.address import address
from handrail.bridge.cluster.link.link import Link
from handrail.bridge.cluster.link.names import EVENTS, NODES, bucket_subject, events_subject, proof_subject
from handrail.bridge.cluster.status import Status, cluster_status, role_of
from handrail.bridge.cluster.store.layout import lay_out
from handrail.bridge.errors import ClusterAway, ClusterRefused
from handrail.testing import NatsCluster, NatsServer

PATIENCE = 40


async def tell(link: Link, node: Node) -> None:
    subject = bucket_subject(NODES, node.name)
    await link.js.publish(subject, msgspec.json.encode(node), msg_ttl=15.0)


async def test_the_machines_that_are_there_and_what_nats_keeps(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(PATIENCE),
        NatsServer(tmp_path / "n") as server,
        Link(address(server.url), "a", role="both") as link,
    ):
        await link.until_up(PATIENCE)
        before = await cluster_status(link)
        assert (before.up, before.nodes, before.streams) == (True, [], [])
        assert [line for line in before.alarms if "the first gateway that comes makes them" in line]
        await lay_out(link.js, 1)
        await tell(link, Node(name="box-2", boot="b", roots=["/srv"], sessions=3, most_sessions=8, behind=5000))
        await tell(link, Node(name="box.1", boot="a", address="http://127.0.0.1:8787", runs=False))
        await link.js.publish(proof_subject(NODES, "box-2"), b"x")
        await link.js.publish(bucket_subject(NODES, "strange"), b"{")
        await link.js.publish(events_subject("s"), b"12345")
        found = await cluster_status(link, me="box.1", alarms=["the disk is full"])
        assert [(one.name, role_of(one), one.sessions) for one in found.nodes] == [
            ("box-2", "runner", 3),
            ("box.1", "gateway", 0),
        ]
        assert all(0 <= one.age < PATIENCE for one in found.nodes)
        assert {one.name for one in found.streams} == set(OUR_STREAMS)
        events = next(one for one in found.streams if one.name == EVENTS)
        assert (events.messages, events.replicas, events.away) == (1, 1, 0)
        assert events.bytes > 0
        assert found.alarms == ["the disk is full", "box-2 has 5,000 events that NATS has not"]
        assert msgspec.json.decode(msgspec.json.encode(found), type=Status) == found


async def test_while_nats_is_away_the_machines_that_were_known_are_told(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(PATIENCE),
        NatsServer(tmp_path / "n") as server,
        Link(address(server.url), "a", role="both") as link,
    ):
        await link.until_up(PATIENCE)
        gone = asyncio.Event()
        link.on_down.append(gone.set)
        await server.kill()
        await gone.wait()
        found = await cluster_status(link, [Node(name="a", boot="b", labels=["gpu"])], me="a")
        assert not found.up
        assert [(one.name, one.labels) for one in found.nodes] == [("a", ["gpu"])]
        assert found.streams == []
        assert [line for line in found.alarms if line.startswith("NATS does not answer")]


@pytest.mark.campaign
async def test_a_copy_that_is_away_is_told(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(PATIENCE),
        NatsCluster(tmp_path) as cluster,
        Link(address(",".join(cluster.urls)), "a", role="both") as link,
    ):
        await link.until_up(PATIENCE)
        await laid_out(link)
        found = await cluster_status(link)
        assert {(one.replicas, one.away) for one in found.streams} == {(3, 0)}
        assert all(one.leader for one in found.streams)
        port = link.nats.connected_url.port if link.nats.connected_url else 0
        await next(one for one in cluster.servers if one.port != port).kill()
        while not any("copies are away" in line for line in found.alarms):
            found = await cluster_status(link)
            await asyncio.sleep(0.1)  # the copies are silent for a while before they count as gone
        assert [one for one in found.streams if one.away == 1]


async def laid_out(link: Link) -> None:
    """Where servers have just found each other, some of them do not yet answer."""
    while True:
        try:
            return await lay_out(link.js, 3)
        except (ClusterAway, ClusterRefused):
            await asyncio.sleep(0.1)
