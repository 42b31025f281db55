"""What machines tell each other about themselves and about sessions. Pure."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["Node", "Owner", "Timing"]


class Node(Struct, frozen=True, kw_only=True):
    """One machine: a gateway, a runner, or both. It says so anew every few seconds, and that is its lease.

    boot          one life of it: a machine whose lease has lapsed comes back under another
    address       where its page is; "" for one that has none
    runs          it runs sessions
    moves         its sessions may be taken up elsewhere once its lease has lapsed: without NATS they stop in time.
                  Without it they go on, and stay where they are
    roots         folders in which sessions may work there
    labels        words by which it is chosen
    sessions      how many have a process there, of `most_sessions` (0: any number)
    free_memory   bytes, of which `least_memory` must be left for one session more
    behind        events that it has and NATS has not yet
    """

    name: str
    boot: str
    address: str = ""
    runs: bool = True
    moves: bool = True
    roots: list[str] = []
    labels: list[str] = []
    sessions: int = 0
    most_sessions: int = 0
    free_memory: int = 0
    least_memory: int = 0
    behind: int = 0
    cli: str = ""
    version: str = ""
    since: int = 0


class Owner(Struct, frozen=True, kw_only=True):
    """Who runs a session, or ran it last. `epoch` grows with every owner; `held` is False where it was let go."""

    node: str
    boot: str
    epoch: int
    held: bool = True
    moves: bool = True


class Timing(Struct, frozen=True, kw_only=True):
    """Of a lease, in seconds.

    What lies between `fence_after` and `ttl` is there for ending what must be over by then. A renewal finds a majority
    again some 4 to 9 seconds after the servers have lost their leader: that must fit in before.
    """

    ttl: float = 15.0
    renew: float = 2.0
    fence_after: float = 12.0
