"""Memory of a slow reader: a whole turn is unread, for turns of three lengths."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.figures import Promise, Section, at_most
from benchmarks.workbench import Workbench

__all__ = ["measure"]

LENGTHS = (20_000, 100_000, 300_000)
ROUNDS = 3
MIB = 1024 * 1024


def measure(bench: Workbench) -> Section:
    """A turn runs to its end before any of it is read; then all of it is read."""
    runs: dict[int, list[dict[str, Any]]] = {length: [] for length in LENGTHS}
    for _ in bench.rounds(ROUNDS, "lagging behind"):
        for length in LENGTHS:
            runs[length].append(bench.figures(bench.ours, "lag_behind.py", bench.flood, str(length)))
    grown = {length: _middle(runs[length], "unread") for length in LENGTHS}
    lost = sum(length + 2 - run["messages"] for length in LENGTHS for run in runs[length])
    _, middle, long = LENGTHS
    return Section(
        "A reader that lags behind",
        "The result of the turn is awaited before any of its messages is read: they are stored in memory up to the "
        f"inbox limit of 8 MiB, the rest in a file. Then all are read and counted. Median of {len(runs[long])} rounds.",
        ("unread messages", "memory before", "growth while unread", "growth after all were read"),
        tuple(
            (
                f"{length:,}",
                f"{median(run['before'] for run in runs[length]) / MIB:.1f} MiB",
                f"{grown[length]:.1f} MiB",
                f"{_middle(runs[length], 'after'):.1f} MiB",
            )
            for length in LENGTHS
        ),
        (
            at_most(f"growth from {middle:,} to {long:,} unread messages", 4, grown[long] - grown[middle], " MiB"),
            at_most(f"growth with {long:,} unread messages", 32, grown[long], " MiB"),
            Promise("messages lost", "none", str(lost), lost == 0),
        ),
    )


def _middle(runs: list[dict[str, Any]], moment: str) -> float:
    return median(run[moment] - run["before"] for run in runs) / MIB
