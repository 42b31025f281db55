"""The entries of the nodes and owners buckets: machines and the owners of sessions. Pure."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["Node", "Owner", "Timing"]


class Node(Struct, frozen=True, kw_only=True):
    """One machine: a gateway, a runner, or both. It rewrites this entry every few seconds, which renews its lease.

    boot          identifies one lease; a machine whose lease expired rejoins with another one
    address       URL of its page; "" if it serves none
    runs          it runs sessions
    moves         other machines may take over its sessions after its lease expired, so it stops them in time when NATS
                  is unreachable; otherwise its sessions keep running and stay on it
    roots         folders in which its sessions may work
    labels        words by which clients choose it
    sessions      sessions with a process, of at most `most_sessions` (0: no limit)
    free_memory   bytes, of which `least_memory` must remain to start another session
    behind        events not yet published to NATS
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
    """The current or last owner of a session. `epoch` increases with every owner; `held` is False after a release."""

    node: str
    boot: str
    epoch: int
    held: bool = True
    moves: bool = True


class Timing(Struct, frozen=True, kw_only=True):
    """Lease timing in seconds.

    The time between `fence_after` and `ttl` is for stopping the sessions before another machine may claim them. After
    the loss of a JetStream leader, renewals succeed again within 4 to 9 seconds; `fence_after` has to be longer.
    """

    ttl: float = 15.0
    renew: float = 2.0
    fence_after: float = 12.0
