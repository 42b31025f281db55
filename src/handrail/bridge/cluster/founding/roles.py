"""Who may say what on NATS. In: the names of everything. Out: for each role, what it may publish and hear. Pure.

`ROLES` is the whole table. Answers need no row: whoever was asked may answer. What JetStream delivers goes to the
inbox of whoever asked for it, and each role has an inbox of its own.

gateway  has the page: asks the owners of sessions, follows them, reads everything, keeps pictures; writes no event
runner   runs sessions: writes their events, who owns them, their transcripts; asks nobody to do anything
both     a gateway that runs sessions too
viewer   looks at how the cluster is, and at nothing that is said in it
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from handrail.bridge.cluster.link.names import (
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

__all__ = ["OUR_STREAMS", "ROLES", "Role"]


class Role(Struct, frozen=True):
    """Subjects, with the wildcards of NATS."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]


_BUCKETS: Final = {name: bucket_stream(name) for name in BUCKETS}
_OBJECTS: Final = {name: f"OBJ_{name}" for name in (TRANSCRIPTS, UPLOADS)}
OUR_STREAMS: Final = (EVENTS, RECEIPTS, *_BUCKETS.values(), *_OBJECTS.values())
"""What JetStream keeps for us, by the names it has there."""


def _api(*requests: str, of: tuple[str, ...] = OUR_STREAMS) -> tuple[str, ...]:
    """Requests to JetStream, for some streams and for no other."""
    return tuple(f"$JS.API.{request.format(stream)}" for stream in of for request in requests)


def _every(subject: Callable[[str], str]) -> str:
    """That of any session, or of any machine."""
    return f"{subject('any').rpartition('.')[0]}.*"


def _put(*buckets: str) -> tuple[str, ...]:
    return tuple(f"$KV.{name}.>" for name in buckets)


def _put_objects(name: str) -> tuple[str, ...]:
    """Objects are put in pieces; of one that is put again or deleted the old pieces are purged."""
    return (f"$O.{name}.>", *_api("STREAM.PURGE.{}", of=(_OBJECTS[name],)))


_LOOK: Final = ("$JS.API.INFO", *_api("STREAM.INFO.{}"))
_GET: Final = ("STREAM.MSG.GET.{}", "DIRECT.GET.{}", "DIRECT.GET.{}.>")
_READ: Final = (
    *_LOOK,
    "$JS.API.STREAM.NAMES",
    *_api(
        *_GET,
        "CONSUMER.CREATE.{}",
        "CONSUMER.CREATE.{}.>",
        "CONSUMER.INFO.{}.>",
        "CONSUMER.DELETE.{}.>",
        "CONSUMER.MSG.NEXT.{}.>",
    ),
    *(f"$JS.FC.{stream}.>" for stream in OUR_STREAMS),
)
_LAY_OUT: Final = _api("STREAM.CREATE.{}", "STREAM.UPDATE.{}")

_GATEWAY: Final = Role(
    publish=(
        *_READ,
        *_LAY_OUT,
        _every(do_subject),
        _every(follow_subject),
        _every(node_subject),
        ALL_NODES,
        *_put(NODES, OWNERS, SETTINGS, SESSIONS),
        *_put_objects(UPLOADS),
    ),
    subscribe=(_every(live_subject), _every(node_subject), ALL_NODES, f"{inbox_prefix('gateway')}.>"),
)
_RUNNER: Final = Role(
    publish=(
        *_READ,
        *STREAMS.values(),
        _every(live_subject),
        *_put(NODES, OWNERS, SESSIONS),
        *_put_objects(TRANSCRIPTS),
        *_api("STREAM.PURGE.{}", of=(EVENTS, RECEIPTS)),
    ),
    subscribe=(
        _every(do_subject),
        _every(follow_subject),
        _every(node_subject),
        ALL_NODES,
        f"{inbox_prefix('runner')}.>",
    ),
)
_BOTH: Final = Role(
    publish=tuple(dict.fromkeys((*_GATEWAY.publish, *_RUNNER.publish))),
    subscribe=tuple(dict.fromkeys((*_GATEWAY.subscribe, *_RUNNER.subscribe, f"{inbox_prefix('both')}.>"))),
)
_VIEWER: Final = Role(publish=(*_LOOK, *_api(*_GET, of=(_BUCKETS[NODES],))), subscribe=())


def _may_look(role: Role) -> Role:
    """Everybody may ask for the state of the cluster, under the inbox that is for that."""
    return Role(role.publish, (*role.subscribe, f"{inbox_prefix('viewer')}.>"))


ROLES: Final = {
    "gateway": _may_look(_GATEWAY),
    "runner": _may_look(_RUNNER),
    "both": _may_look(_BOTH),
    "viewer": _may_look(_VIEWER),
}
