"""Status of a cluster: its machines, its JetStream streams, and warnings.

The queries are limited to what the viewer role may read: no session data.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec import Struct
from nats import errors
from nats.js import JetStreamContext
from nats.js.api import StreamInfo
from nats.js.errors import APIError, NotFoundError

from handrail.bridge.cluster.leases.lease import Node
from handrail.bridge.cluster.nats.connection import NatsConnection
from handrail.bridge.cluster.nats.names import NODES, bucket_stream, bucket_subject
from handrail.bridge.cluster.setup.roles import ALL_STREAMS

__all__ = ["NodeStatus", "Status", "StreamStatus", "cluster_status", "role_of"]

LATE_LEASE_SECONDS: Final = 8.0
"""Leases are renewed every two seconds."""
OFFLINE_NANOSECONDS: Final = 3_000_000_000
"""Replicas send a heartbeat every second. NATS itself reports one as offline only after ten."""
MAX_LAG: Final = 1000
"""Events or messages. A larger lag is more than the traffic of the moment."""


class NodeStatus(Node, frozen=True, kw_only=True):
    """A machine; `age` is the number of seconds since it renewed its lease."""

    age: float = 0.0


class StreamStatus(Struct, frozen=True, kw_only=True):
    """A JetStream stream.

    replicas  configured number of replicas
    away      replicas on servers that are offline
    behind    messages that the slowest replica lacks
    leader    name of the leading server; "" without a leader
    """

    name: str
    messages: int = 0
    bytes: int = 0
    replicas: int = 1
    away: int = 0
    behind: int = 0
    leader: str = ""


class Status(Struct, frozen=True, kw_only=True):
    """Status of the cluster. `me`: the reporting machine; `up`: NATS answers; `alarms`: warnings for the operator."""

    me: str
    up: bool
    nodes: list[NodeStatus]
    streams: list[StreamStatus]
    alarms: list[str]


_decoder: Final = msgspec.json.Decoder(NodeStatus)


async def cluster_status(
    connection: NatsConnection, nodes: Iterable[Node] = (), *, me: str = "", alarms: Sequence[str] = ()
) -> Status:
    """Query NATS. `nodes` are reported if NATS does not answer; `alarms` are reported in any case."""
    try:
        found = await asyncio.gather(*(_stream(connection.js, name) for name in ALL_STREAMS))
        members = await _nodes(connection.js)
    except (errors.Error, APIError, TimeoutError) as error:
        alarm = f"NATS does not answer: {connection.refused or str(error).removeprefix('nats: ')}"
        known = [msgspec.convert(node, NodeStatus, from_attributes=True) for node in nodes]
        return Status(me=me, up=False, nodes=known, streams=[], alarms=[*alarms, alarm])
    streams = [stream for stream in found if stream is not None]
    missing = [name for name, stream in zip(ALL_STREAMS, found, strict=True) if stream is None]
    warnings = [*alarms, *_missing_alarms(missing), *_node_alarms(members), *_stream_alarms(streams)]
    return Status(me=me, up=True, nodes=members, streams=streams, alarms=warnings)


def role_of(node: Node) -> str:
    """The role of a machine: `gateway`, `runner` or `both`."""
    if not node.address:
        return "runner"
    return "both" if node.runs else "gateway"


async def _stream(js: JetStreamContext, name: str) -> StreamStatus | None:
    try:
        return _stream_status(await js.stream_info(name))
    except NotFoundError:
        return None


def _stream_status(info: StreamInfo) -> StreamStatus:
    wanted, cluster = info.config.num_replicas or 1, info.cluster
    others = (cluster.replicas or []) if cluster is not None else []
    online = [peer for peer in others if not peer.offline and (peer.active or 0) < OFFLINE_NANOSECONDS]
    return StreamStatus(
        name=info.config.name or "",
        messages=info.state.messages,
        bytes=info.state.bytes,
        replicas=wanted,
        away=max(wanted - 1 - len(online), 0),
        behind=max([peer.lag or 0 for peer in online], default=0),
        leader=(cluster.leader or "") if cluster is not None else "",
    )


async def _nodes(js: JetStreamContext) -> list[NodeStatus]:
    """Read from the leader: a replica that lags would list machines whose lease has expired."""
    stream = bucket_stream(NODES)
    try:
        info = await js.stream_info(stream, subjects_filter=_EVERY_NODE)
    except NotFoundError:
        return []
    entries = await asyncio.gather(*(_entry(js, stream, subject) for subject in sorted(info.state.subjects or {})))
    return [entry for entry in entries if entry is not None]


_EVERY_NODE: Final = f"{bucket_subject(NODES, 'any').rpartition('.')[0]}.*"


async def _entry(js: JetStreamContext, stream: str, subject: str) -> NodeStatus | None:
    try:
        message = await js.get_last_msg(stream, subject)
        node = _decoder.decode(message.data or b"")
    except (NotFoundError, msgspec.MsgspecError):  # the lease expired since, or the entry is invalid
        return None
    now = datetime.now(UTC)
    age = max((now - (message.time or now)).total_seconds(), 0.0)
    return msgspec.structs.replace(node, age=round(age, 1))


# Warnings


def _missing_alarms(names: list[str]) -> list[str]:
    if not names:
        return []
    return [f"missing in NATS: {', '.join(names)}; the first gateway that connects creates them"]


def _node_alarms(nodes: Iterable[NodeStatus]) -> list[str]:
    found: list[str] = []
    for node in nodes:
        if node.age > LATE_LEASE_SECONDS:
            found.append(f"{node.name} has not renewed its lease for {node.age:.0f} s")
        if node.behind > MAX_LAG:
            found.append(f"{node.name} has {node.behind:,} events that are not in NATS yet")
    return found


def _stream_alarms(streams: Iterable[StreamStatus]) -> list[str]:
    found: list[str] = []
    for stream in streams:
        if stream.replicas > 1 and not stream.leader:
            found.append(f"{stream.name}: too few servers are online to elect a leader")
        if stream.away:
            found.append(f"{stream.name}: {stream.away} of {stream.replicas} replicas are offline")
        if stream.behind > MAX_LAG:
            found.append(f"{stream.name}: a replica is {stream.behind:,} messages behind")
    return found
