"""How a cluster is. In: a connection to NATS. Out: its machines and what NATS keeps, and in words what is not well.

It asks for nothing that a viewer may not see: no session and nothing that was said.
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

from handrail.bridge.cluster.founding.roles import OUR_STREAMS
from handrail.bridge.cluster.leases.records import Node
from handrail.bridge.cluster.link.link import Link
from handrail.bridge.cluster.link.names import NODES, bucket_stream, bucket_subject

__all__ = ["NodeStatus", "Status", "StreamStatus", "cluster_status", "role_of"]

OLD_LEASE: Final = 8.0
"""Seconds: a lease is renewed every two, and one that is older was not."""
SILENT_NANOSECONDS: Final = 3_000_000_000
"""A copy says every second that it is there; NATS itself takes it for gone after ten."""
FAR_BEHIND: Final = 1000
"""Events, or messages of a copy: that many are no longer those of this moment."""


class NodeStatus(Node, frozen=True, kw_only=True):
    """A machine, and how many seconds ago it renewed its lease."""

    age: float = 0.0


class StreamStatus(Struct, frozen=True, kw_only=True):
    """What NATS keeps under one name.

    replicas  copies that there should be
    away      of these, on servers that are not there
    behind    messages that the slowest copy lacks
    leader    the server that decides; "" where the servers have none just now
    """

    name: str
    messages: int = 0
    bytes: int = 0
    replicas: int = 1
    away: int = 0
    behind: int = 0
    leader: str = ""


class Status(Struct, frozen=True, kw_only=True):
    """Everything. `me`: who tells it; `up`: NATS answers; `alarms`: what somebody should look at, in words."""

    me: str
    up: bool
    nodes: list[NodeStatus]
    streams: list[StreamStatus]
    alarms: list[str]


_decoder: Final = msgspec.json.Decoder(NodeStatus)


async def cluster_status(link: Link, nodes: Iterable[Node] = (), *, me: str = "", alarms: Sequence[str] = ()) -> Status:
    """Ask NATS. `nodes`: those that are known without it; `alarms`: what is known not to be well."""
    try:
        found = await asyncio.gather(*(_stream(link.js, name) for name in OUR_STREAMS))
        there = await _nodes(link.js)
    except (errors.Error, APIError, TimeoutError) as error:
        why = f"NATS does not answer: {link.refused or str(error).removeprefix('nats: ')}"
        known = [msgspec.convert(node, NodeStatus, from_attributes=True) for node in nodes]
        return Status(me=me, up=False, nodes=known, streams=[], alarms=[*alarms, why])
    streams = [one for one in found if one is not None]
    missing = [name for name, one in zip(OUR_STREAMS, found, strict=True) if one is None]
    words = [*alarms, *_missing(missing), *_about_nodes(there), *_about_streams(streams)]
    return Status(me=me, up=True, nodes=there, streams=streams, alarms=words)


def role_of(node: Node) -> str:
    """What it is called that a machine does."""
    if not node.address:
        return "runner"
    return "both" if node.runs else "gateway"


async def _stream(js: JetStreamContext, name: str) -> StreamStatus | None:
    try:
        return _told(await js.stream_info(name))
    except NotFoundError:
        return None


def _told(info: StreamInfo) -> StreamStatus:
    wanted, cluster = info.config.num_replicas or 1, info.cluster
    others = (cluster.replicas or []) if cluster is not None else []
    there = [one for one in others if not one.offline and (one.active or 0) < SILENT_NANOSECONDS]
    return StreamStatus(
        name=info.config.name or "",
        messages=info.state.messages,
        bytes=info.state.bytes,
        replicas=wanted,
        away=max(wanted - 1 - len(there), 0),
        behind=max([one.lag or 0 for one in there], default=0),
        leader=(cluster.leader or "") if cluster is not None else "",
    )


async def _nodes(js: JetStreamContext) -> list[NodeStatus]:
    """By what the leader has: a copy that lags would show machines that are gone."""
    stream = bucket_stream(NODES)
    try:
        info = await js.stream_info(stream, subjects_filter=_EVERY_NODE)
    except NotFoundError:
        return []
    entries = await asyncio.gather(*(_entry(js, stream, subject) for subject in sorted(info.state.subjects or {})))
    return [one for one in entries if one is not None]


_EVERY_NODE: Final = f"{bucket_subject(NODES, 'any').rpartition('.')[0]}.*"


async def _entry(js: JetStreamContext, stream: str, subject: str) -> NodeStatus | None:
    try:
        message = await js.get_last_msg(stream, subject)
        node = _decoder.decode(message.data or b"")
    except (NotFoundError, msgspec.MsgspecError):  # it has lapsed, or left
        return None
    now = datetime.now(UTC)
    age = max((now - (message.time or now)).total_seconds(), 0.0)
    return msgspec.structs.replace(node, age=round(age, 1))


# What somebody should look at


def _missing(names: list[str]) -> list[str]:
    if not names:
        return []
    return [f"NATS has no {', '.join(names)} yet: the first gateway that comes makes them"]


def _about_nodes(nodes: Iterable[NodeStatus]) -> list[str]:
    found: list[str] = []
    for one in nodes:
        if one.age > OLD_LEASE:
            found.append(f"{one.name} has not renewed its lease for {one.age:.0f} s")
        if one.behind > FAR_BEHIND:
            found.append(f"{one.name} has {one.behind:,} events that NATS has not")
    return found


def _about_streams(streams: Iterable[StreamStatus]) -> list[str]:
    found: list[str] = []
    for one in streams:
        if one.replicas > 1 and not one.leader:
            found.append(f"{one.name} has no leader: too few of its servers are there")
        if one.away:
            found.append(f"{one.name}: {one.away} of its {one.replicas} copies are away")
        if one.behind > FAR_BEHIND:
            found.append(f"{one.name}: a copy is {one.behind:,} messages behind")
    return found
