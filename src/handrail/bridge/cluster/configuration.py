"""What a machine of a cluster is told before it starts."""

from __future__ import annotations

import re
import socket
from typing import Final

from msgspec import Struct, field

from handrail.bridge.cluster.leases.records import Timing
from handrail.bridge.cluster.nats.address import Address
from handrail.bridge.errors import ClusterRefused

__all__ = ["REPLICAS", "ClusterConfiguration", "checked_label", "checked_name", "default_name"]

REPLICAS: Final = 3
"""Copies of everything, where there are as many servers."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
"""A name is a word of a subject and a key of a bucket."""


def default_name() -> str:
    """What this machine calls itself, as a name in a cluster."""
    spelt = re.sub(r"[^A-Za-z0-9_-]+", "-", socket.gethostname()).strip("-_")[:63]
    return spelt or "node"


def checked_name(name: str) -> str:
    """ClusterRefused for what cannot be a machine's name."""
    if _NAME.fullmatch(name) is None:
        raise ClusterRefused(f"{name!r} is no name of a machine: letters, digits, - and _, at most 63 of them")
    return name


def checked_label(label: str) -> str:
    """ClusterRefused for what is no label."""
    if _NAME.fullmatch(label) is None:
        raise ClusterRefused(f"{label!r} is no label: letters, digits, - and _, at most 63 of them")
    return label


class ClusterConfiguration(Struct, frozen=True, kw_only=True):
    """One machine of a cluster.

    name           by which the others know it; no two may have the same
    page           it has a page: a gateway. Without one it is a runner
    runs           it runs sessions
    moves          its sessions may be taken up elsewhere when it is gone; without NATS they stop.
                   Without it they go on without NATS, and stay
    labels         words by which it is chosen
    most_sessions  with a process at once; 0 is any number
    least_memory   bytes that must be free for one session more
    replicas       copies of everything; 0: three where there are three servers, else one
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
        """Which of the roles it has: what it may do on NATS goes by that."""
        if not self.page:
            return "runner"
        return "both" if self.runs else "gateway"

    def copies(self, servers: int) -> int:
        """Of everything that is kept, where so many servers were seen; two are no better than one."""
        return self.replicas or (REPLICAS if max(servers, len(self.address.servers)) >= REPLICAS else 1)
