"""Throughput of partial messages, compared with the official SDK and with the least that any reader has to do."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.figures import Section, at_least, at_most
from benchmarks.workbench import PEER, PEER_MODULE, Workbench

__all__ = ["measure"]

MESSAGES = 50_000
ROUNDS = 7


def measure(bench: Workbench) -> Section:
    """Both read the same flood of messages, including their text, alternating."""
    ours: list[dict[str, Any]] = []
    peers: list[dict[str, Any]] = []
    floors: list[dict[str, Any]] = []
    alone: list[float] = []
    for _ in bench.rounds(ROUNDS, "reading partial messages"):
        ours.append(bench.figures(bench.ours, "read_with_handrail.py", bench.flood, str(MESSAGES)))
        peers.append(bench.figures(bench.peer, "read_with_peer.py", PEER_MODULE, bench.flood, str(MESSAGES)))
        floors.append(bench.figures(bench.ours, "read_with_floor.py", bench.flood, str(MESSAGES)))
        alone.append(bench.figures(bench.ours, "read_with_nothing.py", bench.flood, str(MESSAGES))["wall"])
    read = {(run["messages"], run["length"]) for run in (*ours, *peers, *floors)}
    if len(read) != 1:
        raise RuntimeError(f"the two did not read the same: {sorted(read)}")
    speed, peer_speed, most = (median(run["messages"] / run["wall"] for run in runs) for runs in (ours, peers, floors))
    cpu, peer_cpu, least = (
        median(run["cpu"] / run["messages"] * 1e6 for run in runs) for runs in (ours, peers, floors)
    )
    return Section(
        "Reading partial messages",
        f"One turn of {MESSAGES:,} partial messages, written by a child as fast as the pipe accepts them; every "
        f"`event.delta.text` is read and its length added up ({read.pop()[1]:,} characters on both sides). "
        f"Median of {len(ours)} rounds, alternating. The floor is one read, one split and one decode of each line into "
        "the same type, without an event loop. The last row reads the bytes of the child without parsing them.",
        ("", "messages/s", "CPU per message"),
        (
            ("Handrail", f"{speed:,.0f}", f"{cpu:.2f} µs"),
            (PEER, f"{peer_speed:,.0f}", f"{peer_cpu:.2f} µs"),
            ("ratio", f"{speed / peer_speed:.2f}×", f"{cpu / peer_cpu:.3f}×"),
            ("the floor", f"{most:,.0f}", f"{least:.2f} µs"),
            ("against the floor", f"{speed / most:.2f}×", f"{cpu / least:.2f}×"),
            ("the child alone", f"{MESSAGES / median(alone):,.0f}", ""),
        ),
        (
            at_least("messages per second, against the official SDK", 10, speed / peer_speed),
            at_most("CPU per message, against the official SDK", 0.1, cpu / peer_cpu),
            at_most("CPU per message, against the floor", 1.6, cpu / least),
        ),
    )
