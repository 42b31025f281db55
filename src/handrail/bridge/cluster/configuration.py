"""The configuration of one machine of a cluster."""

from __future__ import annotations

import re
import socket
from typing import Final

from msgspec import Struct, field

from handrail.bridge.cluster.nats.address import Address
from handrail.bridge.errors import ClusterRefused

__all__ = ["REPLICAS", "ClusterConfiguration", "Timing", "checked_label", "checked_name", "default_name"]

REPLICAS: Final = 3
"""Replicas of each stream, if there are as many NATS servers."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
"""A name is a token of a NATS subject and a key of a bucket."""


def default_name() -> str:
    """A name made from the host name."""
    spelt = re.sub(r"[^A-Za-z0-9_-]+", "-", socket.gethostname()).strip("-_")[:63]
    return spelt or "node"


def checked_name(name: str) -> str:
    """The name. Raises ClusterRefused if it is invalid."""
    if _NAME.fullmatch(name) is None:
        raise ClusterRefused(f"invalid machine name {name!r}; use at most 63 letters, digits, - and _")
    return name


def checked_label(label: str) -> str:
    """The label. Raises ClusterRefused if it is invalid."""
    if _NAME.fullmatch(label) is None:
        raise ClusterRefused(f"invalid label {label!r}; use at most 63 letters, digits, - and _")
    return label


class Timing(Struct, frozen=True, kw_only=True):
    """Lease timing in seconds.

    The time between `fence_after` and `ttl` is for stopping the sessions before another machine may claim them. After
    the loss of a JetStream leader, renewals succeed again within 4 to 9 seconds; `fence_after` has to be longer.
    """

    ttl: float = 15.0
    renew: float = 2.0
    fence_after: float = 12.0


class ClusterConfiguration(Struct, frozen=True, kw_only=True):
    """One machine of a cluster.

    name           unique in the cluster
    page           serves the web page: a gateway; otherwise it is a runner
    runs           runs sessions
    moves          true: other machines take over its sessions when it fails, and the sessions stop without NATS.
                   false: its sessions are bound to it and keep running without NATS
    labels         words by which clients choose machines
    most_sessions  sessions with a process; 0: no limit
    least_memory   bytes that must be available for another session
    replicas       replicas of each stream; 0: three if there are three NATS servers, else one
    """

    address: Address
    name: str = field(default_factory=default_name)
    page: bool = True
    runs: bool = True
    moves: bool = False
    labels: tuple[str, ...] = ()
    most_sessions: int = 0
    least_memory: int = 256 * 1024**2
    replicas: int = 0
    timing: Timing = Timing()

    @property
    def role(self) -> str:
        """The role, which determines its permissions on NATS."""
        if not self.page:
            return "runner"
        return "both" if self.runs else "gateway"

    def copies(self, servers: int) -> int:
        """Replicas for this number of servers: one or three, because two tolerate no more failures than one."""
        return self.replicas or (REPLICAS if max(servers, len(self.address.servers)) >= REPLICAS else 1)
