"""What must be there on NATS before a node can work. In: JetStream, how many copies. Out: streams and buckets.

Every node asks for it when it starts, at once with others where it must be: what is right is left as it is, what an
administrator added is kept, and what cannot be made right is said in words.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, cast

from nats.errors import Error, NoRespondersError
from nats.errors import TimeoutError as NatsTimeout
from nats.js import JetStreamContext
from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType, StoreCompression, StreamConfig, StreamInfo
from nats.js.errors import APIError, NotFoundError, ServiceUnavailableError

from handrail.bridge.cluster import names
from handrail.bridge.errors import ClusterAway, ClusterRefused

__all__ = ["LARGEST_MESSAGE", "lay_out", "streams"]

LARGEST_MESSAGE: Final = 8 * 1024 * 1024
"""Bytes, with its headers; `max_payload` of the servers must allow as much."""
_DAY: Final = 24 * 60 * 60.0
_MARKER: Final = 60.0
"""Seconds that it stays on record that an entry has lapsed: whoever watches is told."""
_FEW: Final = 10005
"""The server's number for: there are too few servers for so many copies. Some may not have come yet."""
_TAKEN: Final = 10058
"""The server's number for: there is a stream of this name, another one."""

_FIXED: Final = ("subjects", "storage", "retention")
"""Where one of these differs, the stream is somebody else's, or of no use to us."""
_MENDED: Final = (
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


def streams(replicas: int) -> list[StreamConfig]:
    """Everything, each with so many copies. Pure."""
    events = _stream(names.EVENTS, [names.STREAMS[names.EVENTS]], replicas)
    receipts = _stream(names.RECEIPTS, [names.STREAMS[names.RECEIPTS]], replicas)
    return [
        replace(events, compression=StoreCompression.S2, allow_msg_ttl=True, max_msg_size=LARGEST_MESSAGE),
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
    """As clients of NATS know a bucket; of each key the newest value is kept."""
    marker = _MARKER if name in (names.NODES, names.OWNERS) else None
    return replace(
        _stream(f"KV_{name}", [f"$KV.{name}.>"], replicas),
        max_msgs_per_subject=1,
        allow_rollup_hdrs=True,
        allow_msg_ttl=True,
        deny_delete=True,
        subject_delete_marker_ttl=marker,
    )


def _objects(name: str, replicas: int) -> StreamConfig:
    """As clients of NATS know an object store."""
    subjects = [f"$O.{name}.C.>", f"$O.{name}.M.>"]
    return replace(_stream(f"OBJ_{name}", subjects, replicas), allow_rollup_hdrs=True)


async def lay_out(js: JetStreamContext, replicas: int) -> None:
    """Make what is missing and mend what differs. ClusterRefused where that cannot be; ClusterAway for now."""
    for wanted in streams(replicas):
        try:
            await _have(js, wanted)
        except (NatsTimeout, NoRespondersError, ServiceUnavailableError) as error:
            raise ClusterAway(f"NATS does not answer about the stream {wanted.name}: {error}") from error
        except APIError as error:
            refused = f"NATS refuses the stream {wanted.name}: {error.description}"
            raise (ClusterAway if error.err_code == _FEW else ClusterRefused)(refused) from error
        except Error as error:
            raise ClusterAway(f"NATS is away: {error}") from error


async def _have(js: JetStreamContext, wanted: StreamConfig) -> None:
    assert wanted.name
    try:
        info = await js.stream_info(wanted.name)
    except NotFoundError:
        info = await _make(js, wanted)
    there = info.config
    for field in _FIXED:
        if getattr(there, field) != getattr(wanted, field):
            raise ClusterRefused(
                f"NATS has a stream {wanted.name} that is not Handrail's: its {field} is {_said(there, field)},"
                f" not {_said(wanted, field)}"
            )
    pairs = {field: (getattr(there, field) or None, getattr(wanted, field) or None) for field in _MENDED}
    changes: dict[str, Any] = {field: ours for field, (theirs, ours) in pairs.items() if theirs != ours}
    if (there.num_replicas or 1) < (wanted.num_replicas or 1):
        changes["num_replicas"] = wanted.num_replicas
    if changes:
        await js.update_stream(replace(there, **changes))  # pyright: ignore[reportUnknownMemberType]


async def _make(js: JetStreamContext, wanted: StreamConfig) -> StreamInfo:
    """Make it, unless somebody else made it otherwise in this moment: then that one counts."""
    assert wanted.name
    try:
        return await js.add_stream(wanted)  # pyright: ignore[reportUnknownMemberType]
    except APIError as error:
        if error.err_code != _TAKEN:
            raise
        return await js.stream_info(wanted.name)


def _said(config: StreamConfig, field: str) -> str:
    value = getattr(config, field)
    return " ".join(cast("list[str]", value)) if isinstance(value, list) else str(getattr(value, "value", value))
