"""The messages of the native protocol as types. The JSON Schema and the page's types are generated from them.

The tests of dialects/native.py check its messages against these types.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from handrail.bridge.store.base import State

__all__ = ["CLIENT", "SERVER", "Event", "SessionItem", "SessionShown"]

SessionId = Annotated[str, Meta(max_length=64)]
Seq = Annotated[int, Meta(ge=0, le=2**53)]
Milliseconds = Annotated[int, Meta(description="since 1970")]


class _Message(Struct, tag_field="type", kw_only=True):
    """A message; `type` says which."""


# From the client


class ClientHello(_Message, tag="hello", kw_only=True):
    """The first message."""

    protocol: Literal[1]


class ClientSubscribe(_Message, tag="subscribe", kw_only=True):
    """Follow a session. `after`: the seq of the newest known event. `tail`: at most this many of the newest."""

    session: SessionId
    after: Seq = 0
    tail: Seq = 0


class ClientUnsubscribe(_Message, tag="unsubscribe", kw_only=True):
    """Stop following a session."""

    session: SessionId


class ClientWatch(_Message, tag="watch", kw_only=True):
    """Follow the list of sessions."""


class ClientCommand(_Message, tag="command", kw_only=True):
    """Do a command once: the same id gives the same receipt. The fields depend on the command."""

    id: Annotated[str, Meta(min_length=1, max_length=64)]
    command: Annotated[str, Meta(min_length=1, max_length=64)]
    fields: dict[str, Any] = {}


class ClientVisible(_Message, tag="visible", kw_only=True):
    """Whether someone is looking at the client; false until it says otherwise."""

    visible: bool


class ClientPing(_Message, tag="ping", kw_only=True):
    """Request a heartbeat."""


# From the server


class SessionShown(Struct, kw_only=True):
    """A session. `forked_from` is the id of the original session, `forked_at` that of the message.

    `runner`: the machine that runs it, or ran it last; "" on a server alone. `agent`: the ACP agent that was chosen for
    it; "" for the CLI of the server.
    """

    id: str
    cwd: str
    created: Milliseconds
    changed: Milliseconds
    conversation: str
    title: str
    state: State
    model: str
    mode: str
    archived: bool
    trusted: bool
    cost: float
    questions: int
    error: str
    lapsed: list[dict[str, Any]]
    forked_from: str
    forked_at: str
    runner: str
    agent: str


class SessionItem(Struct, kw_only=True):
    """A session that changed, or the id of one that was deleted."""

    session: SessionShown | UnsetType = UNSET
    deleted: str | UnsetType = UNSET


class Event(Struct, kw_only=True):
    """An event: durable with a seq, live without. A very large one has `bytes` in place of `data`."""

    kind: Literal[
        "frame",
        "said",
        "handed",
        "doubted",
        "withdrawn",
        "held",
        "asked",
        "answered",
        "closed",
        "rewound",
        "state",
        "started",
        "ended",
        "crashed",
        "silent",
        "lapsed",
        "changed",
        "live",
    ]
    seq: Seq | UnsetType = UNSET
    time: Milliseconds | UnsetType = UNSET
    data: dict[str, Any] | UnsetType = UNSET
    bytes: int | UnsetType = UNSET


class Refusal(Struct, kw_only=True):
    """Why a command was refused; `code` is for programs, `message` for people."""

    code: str
    message: str


class ServerHello(_Message, tag="hello", kw_only=True):
    """The server, and the rights of this device. `machine`: its name in the cluster, "" if it is alone."""

    protocol: Literal[1]
    version: str
    device: str
    scopes: list[str]
    commands: list[str]
    machine: str


class ServerSubscribed(_Message, tag="subscribed", kw_only=True):
    """Whether the events continue from where the client was, or start again, and why."""

    session: str
    verdict: Literal["replayed", "snapshot"]
    reason: str
    first: Seq
    last: Seq
    record: SessionShown


class ServerEvents(_Message, tag="events", kw_only=True):
    """Events of a session, in order."""

    session: str
    events: list[Event]


class ServerSessions(_Message, tag="sessions", kw_only=True):
    """Changes of the session list."""

    items: list[SessionItem]


class ServerReceipt(_Message, tag="receipt", kw_only=True):
    """The outcome of a command."""

    id: str
    ok: bool
    result: dict[str, Any] | UnsetType = UNSET
    error: Refusal | UnsetType = UNSET


class ServerResync(_Message, tag="resync", kw_only=True):
    """Subscribe again with the last seq; without a session: watch again."""

    session: str
    reason: str


class ServerHeartbeat(_Message, tag="heartbeat", kw_only=True):
    """Twice a minute, and on ping."""

    time: Milliseconds


class ServerError(_Message, tag="error", kw_only=True):
    """An invalid message or a protocol error; after the latter the socket is closed."""

    code: str
    message: str
    session: str | UnsetType = UNSET


CLIENT: Final[tuple[type[Struct], ...]] = (
    ClientHello,
    ClientSubscribe,
    ClientUnsubscribe,
    ClientWatch,
    ClientCommand,
    ClientVisible,
    ClientPing,
)
SERVER: Final[tuple[type[Struct], ...]] = (
    ServerHello,
    ServerSubscribed,
    ServerEvents,
    ServerSessions,
    ServerReceipt,
    ServerResync,
    ServerHeartbeat,
    ServerError,
)
