"""The long campaigns of a cluster; exits with 1 if a fault is found.

    python -m tests.faults.cluster [--rounds N] [--only NAME]… [--seed N]

Campaigns of the default length without faults write their figures to docs/reliability.md.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.faults.cluster_campaign import FAULTS, run
from tests.faults.cluster_scene import AWAY
from tests.faults.figures import write_figures

ROUNDS = 15
ONCE = {"nats-away"}
"""Campaigns that run for one round, because a round takes minutes."""
MOST_SHOWN = 20


def main() -> int:
    """Run the requested campaigns and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults.cluster", description="Injects faults into a cluster."
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", action="append", choices=list(FAULTS), help="run only this campaign; may be repeated")
    parser.add_argument("--sessions", type=int, default=12)
    parser.add_argument("--away", type=float, default=AWAY, help="seconds without NATS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="keep all files in this folder")
    asked = parser.parse_args()
    lines: list[str] = []
    good = True
    for name in asked.only or list(FAULTS):
        with tempfile.TemporaryDirectory(prefix="handrail-cluster-") as made:
            folder = asked.keep / name if asked.keep else Path(made)
            folder.mkdir(parents=True, exist_ok=True)
            rounds = 1 if name in ONCE else asked.rounds
            size = {"sessions": asked.sessions, "away": asked.away}
            report = asyncio.run(run(folder, name, rounds, asked.seed, _progress(name), **size))
        good = good and not report.faults
        lines.append(report.in_words())
        print("\n".join([lines[-1], *report.faults[:MOST_SHOWN]]), flush=True)
    if good and (asked.rounds, asked.away, asked.only) == (ROUNDS, AWAY, None):
        write_figures("make faults-cluster", [f"- {line}" for line in lines])
    return 0 if good else 1


def _progress(name: str) -> Callable[[str], None]:
    begun = time.monotonic()
    return lambda words: print(f"{name}: {words}, {time.monotonic() - begun:.0f} s so far", flush=True)


if __name__ == "__main__":
    sys.exit(main())
