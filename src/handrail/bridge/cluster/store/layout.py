"""Creates the streams and buckets that the cluster needs on NATS.

Every machine runs this when it joins, possibly at the same time as others. Correct streams are left unchanged, limits
added by an administrator are kept, and a conflicting stream is reported.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, cast

from nats.errors import Error, NoRespondersError
from nats.errors import TimeoutError as NatsTimeout
from nats.js import JetStreamContext
from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType, StoreCompression, StreamConfig, StreamInfo
from nats.js.errors import APIError, NotFoundError, ServiceUnavailableError

from handrail.bridge.cluster.nats import names
from handrail.bridge.errors import ClusterAway, ClusterRefused

__all__ = ["LARGEST_MESSAGE", "lay_out", "streams"]

LARGEST_MESSAGE: Final = 8 * 1024 * 1024
"""Bytes of a message with its headers; `max_payload` of the servers must be at least this large."""
_DAY: Final = 24 * 60 * 60.0
_MARKER: Final = 60.0
"""Seconds for which NATS keeps the marker of an expired entry, so that watchers learn of it."""
_FEW: Final = 10005
"""Error code: fewer servers than replicas. Some servers may still be starting."""
_TAKEN: Final = 10058
"""Error code: a stream with this name and another configuration exists."""

_FIXED: Final = ("subjects", "storage", "retention")
"""A stream that differs in one of these belongs to another application or cannot be used."""
_UPDATED: Final = (
    "allow_atomic",
    "allow_direct",
    "allow_msg_ttl",
    "allow_rollup_hdrs",
    "compression",
    "discard",
    "duplicate_window",
    "max_age",
    "max_msg_size",
    "max_msgs_per_subject",
    "subject_delete_marker_ttl",
)
"""Settings that are corrected on an existing stream."""


def streams(replicas: int) -> list[StreamConfig]:
    """The configuration of all streams, with this number of replicas each. Pure."""
    events = _stream(names.EVENTS, [names.STREAMS[names.EVENTS]], replicas)
    receipts = _stream(names.RECEIPTS, [names.STREAMS[names.RECEIPTS]], replicas)
    return [
        replace(
            events,
            allow_atomic=True,
            allow_msg_ttl=True,
            compression=StoreCompression.S2,
            max_msg_size=LARGEST_MESSAGE,
        ),
        replace(receipts, max_age=30 * _DAY, max_msgs_per_subject=1),
        *(_bucket(name, replicas) for name in names.BUCKETS),
        _objects(names.TRANSCRIPTS, replicas),
        replace(_objects(names.UPLOADS, replicas), max_age=_DAY),
    ]


def _stream(name: str, subjects: list[str], replicas: int) -> StreamConfig:
    return StreamConfig(
        name=name,
        subjects=subjects,
        storage=StorageType.FILE,
        retention=RetentionPolicy.LIMITS,
        discard=DiscardPolicy.NEW,
        compression=StoreCompression.NONE,
        duplicate_window=120.0,
        max_age=0.0,
        allow_direct=True,
        num_replicas=replicas,
    )


def _bucket(name: str, replicas: int) -> StreamConfig:
    """A key-value bucket as NATS clients expect it, with a history of one."""
    marker = _MARKER if name in (names.NODES, names.OWNERS, names.ACCESS) else None
    return replace(
        _stream(f"KV_{name}", [f"$KV.{name}.>"], replicas),
        max_msgs_per_subject=1,
        allow_rollup_hdrs=True,
        allow_msg_ttl=True,
        deny_delete=True,
        subject_delete_marker_ttl=marker,
    )


def _objects(name: str, replicas: int) -> StreamConfig:
    """An object store as NATS clients expect it."""
    subjects = [f"$O.{name}.C.>", f"$O.{name}.M.>"]
    return replace(_stream(f"OBJ_{name}", subjects, replicas), allow_rollup_hdrs=True)


async def lay_out(js: JetStreamContext, replicas: int) -> None:
    """Create missing streams and correct existing ones. Raises ClusterRefused on a conflict, ClusterAway to retry."""
    for wanted in streams(replicas):
        try:
            await _ensure(js, wanted)
        except (NatsTimeout, NoRespondersError, ServiceUnavailableError) as error:
            raise ClusterAway(
                f"no response from NATS about stream {wanted.name}: {str(error) or 'timeout'}; after an upgrade"
                " of Handrail, NATS may need new permissions: handrail cluster permissions"
            ) from error
        except APIError as error:
            refused = f"NATS rejected stream {wanted.name}: {error.description}"
            raise (ClusterAway if error.err_code == _FEW else ClusterRefused)(refused) from error
        except Error as error:
            raise ClusterAway(f"NATS is unreachable: {error}") from error


async def _ensure(js: JetStreamContext, wanted: StreamConfig) -> None:
    assert wanted.name
    try:
        info = await js.stream_info(wanted.name)
    except NotFoundError:
        info = await _create(js, wanted)
    there = info.config
    for field in _FIXED:
        if getattr(there, field) != getattr(wanted, field):
            raise ClusterRefused(
                f"stream {wanted.name} on NATS was not created by Handrail: {field} is {_shown(there, field)}, not"
                f" {_shown(wanted, field)}; rename or delete that stream"
            )
    pairs = {field: (getattr(there, field) or None, getattr(wanted, field) or None) for field in _UPDATED}
    changes: dict[str, Any] = {field: ours for field, (theirs, ours) in pairs.items() if theirs != ours}
    if (there.num_replicas or 1) < (wanted.num_replicas or 1):
        changes["num_replicas"] = wanted.num_replicas
    if changes:
        await js.update_stream(replace(there, **changes))  # pyright: ignore[reportUnknownMemberType]


async def _create(js: JetStreamContext, wanted: StreamConfig) -> StreamInfo:
    """Create a stream; if another machine created it at the same moment, return that one."""
    assert wanted.name
    try:
        return await js.add_stream(wanted)  # pyright: ignore[reportUnknownMemberType]
    except APIError as error:
        if error.err_code != _TAKEN:
            raise
        return await js.stream_info(wanted.name)


def _shown(config: StreamConfig, field: str) -> str:
    value = getattr(config, field)
    return " ".join(cast("list[str]", value)) if isinstance(value, list) else str(getattr(value, "value", value))
