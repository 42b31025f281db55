"""NATS permissions of each role: the subjects it may publish and subscribe to. Pure.

`ROLES` is the complete table. Answers need no entry, because NATS lets the receiver of a request answer it. JetStream
delivers to the inbox of the client that asked, and each role has a separate inbox prefix.

gateway  serves the page: sends requests to owners, follows sessions, reads everything, stores uploads and devices;
         writes no events
runner   runs sessions: writes their events, ownership and transcripts; sends no requests; cannot read devices
both     a gateway that also runs sessions
viewer   reads the state of the cluster, but no session data
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from handrail.bridge.cluster.nats.names import (
    ACCESS,
    ALL_NODES,
    BUCKETS,
    EVENTS,
    NODES,
    OWNERS,
    RECEIPTS,
    SESSIONS,
    SETTINGS,
    STREAMS,
    TRANSCRIPTS,
    UPLOADS,
    bucket_stream,
    do_subject,
    follow_subject,
    inbox_prefix,
    live_subject,
    node_subject,
)

__all__ = ["ALL_STREAMS", "ROLES", "Role"]


class Role(Struct, frozen=True):
    """Allowed subjects, with NATS wildcards."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]


_BUCKETS: Final = {name: bucket_stream(name) for name in BUCKETS}
_OBJECTS: Final = {name: f"OBJ_{name}" for name in (TRANSCRIPTS, UPLOADS)}
ALL_STREAMS: Final = (EVENTS, RECEIPTS, *_BUCKETS.values(), *_OBJECTS.values())
"""Names of all JetStream streams that Handrail uses, including those behind buckets and object stores."""


def _api(*requests: str, of: tuple[str, ...] = ALL_STREAMS) -> tuple[str, ...]:
    """Subjects of JetStream API requests, limited to the given streams."""
    return tuple(f"$JS.API.{request.format(stream)}" for stream in of for request in requests)


def _any(subject: Callable[[str], str]) -> str:
    """The subject with a wildcard for the session or machine."""
    return f"{subject('any').rpartition('.')[0]}.*"


def _put(*buckets: str) -> tuple[str, ...]:
    return tuple(f"$KV.{name}.>" for name in buckets)


def _put_objects(name: str) -> tuple[str, ...]:
    """Writing includes purging: the chunks of a replaced or deleted object are removed."""
    return (f"$O.{name}.>", *_api("STREAM.PURGE.{}", of=(_OBJECTS[name],)))


_STATUS: Final = ("$JS.API.INFO", *_api("STREAM.INFO.{}"))
_GET: Final = ("STREAM.MSG.GET.{}", "DIRECT.GET.{}", "DIRECT.GET.{}.>")
_CONSUME: Final = (
    "CONSUMER.CREATE.{}",
    "CONSUMER.CREATE.{}.>",
    "CONSUMER.INFO.{}.>",
    "CONSUMER.DELETE.{}.>",
    "CONSUMER.MSG.NEXT.{}.>",
)


def _read(*streams: str) -> tuple[str, ...]:
    """Reading these streams, and the status of all."""
    flow_control = (f"$JS.FC.{stream}.>" for stream in streams)
    return (*_STATUS, "$JS.API.STREAM.NAMES", *_api(*_GET, *_CONSUME, of=streams), *flow_control)


_CREATE_STREAMS: Final = _api("STREAM.CREATE.{}", "STREAM.UPDATE.{}")

_GATEWAY: Final = Role(
    publish=(
        *_read(*ALL_STREAMS),
        *_CREATE_STREAMS,
        _any(do_subject),
        _any(follow_subject),
        _any(node_subject),
        ALL_NODES,
        *_put(NODES, OWNERS, SETTINGS, SESSIONS, ACCESS),
        *_put_objects(UPLOADS),
    ),
    subscribe=(_any(live_subject), _any(node_subject), ALL_NODES, f"{inbox_prefix('gateway')}.>"),
)
_RUNNER: Final = Role(
    publish=(
        *_read(*(stream for stream in ALL_STREAMS if stream != _BUCKETS[ACCESS])),
        *STREAMS.values(),
        _any(live_subject),
        *_put(NODES, OWNERS, SESSIONS),
        *_put_objects(TRANSCRIPTS),
        *_api("STREAM.PURGE.{}", of=(EVENTS, RECEIPTS)),
    ),
    subscribe=(
        _any(do_subject),
        _any(follow_subject),
        _any(node_subject),
        ALL_NODES,
        f"{inbox_prefix('runner')}.>",
    ),
)
_BOTH: Final = Role(
    publish=tuple(dict.fromkeys((*_GATEWAY.publish, *_RUNNER.publish))),
    subscribe=tuple(dict.fromkeys((*_GATEWAY.subscribe, *_RUNNER.subscribe, f"{inbox_prefix('both')}.>"))),
)
_VIEWER: Final = Role(publish=(*_STATUS, *_api(*_GET, of=(_BUCKETS[NODES],))), subscribe=())


def _with_status(role: Role) -> Role:
    """Every role may run `handrail cluster status`, which uses the viewer's inbox."""
    return Role(role.publish, (*role.subscribe, f"{inbox_prefix('viewer')}.>"))


ROLES: Final = {
    "gateway": _with_status(_GATEWAY),
    "runner": _with_status(_RUNNER),
    "both": _with_status(_BOTH),
    "viewer": _with_status(_VIEWER),
}
