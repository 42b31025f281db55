"""The long campaigns: kills the server and cuts client links; exits with 1 if a fault is found.

    python -m tests.faults [--kills N] [--cuts N] [--seed N]

A campaign of the default length without faults writes its figures to docs/reliability.md.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.faults.campaign import Report, cut_links, kill_server
from tests.faults.figures import write_figures

KILLS, CUTS = 200, 2_000
SOONEST = 2.0
MOST_SHOWN = 20


def main() -> int:
    """Run both campaigns and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="Kills servers and cuts links.")
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--cuts", type=int, default=CUTS)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    lines: list[str] = []
    good = True
    for what, run, times in (("kills", kill_server, asked.kills), ("cuts", cut_links, asked.cuts)):
        if times:
            with tempfile.TemporaryDirectory(prefix="handrail-faults-") as folder:
                report = asyncio.run(run(Path(folder), times, asked.seed, _progress(what)))
            good = _is_good(report) and good
            lines.append(report.in_words(what))
            print("\n".join([lines[-1], *report.faults[:MOST_SHOWN]]), flush=True)
    if good and (asked.kills, asked.cuts) == (KILLS, CUTS):
        write_figures("make faults", [f"- {line}" for line in lines])
    return 0 if good else 1


def _progress(what: str) -> Callable[[str], None]:
    begun = time.monotonic()
    return lambda words: print(f"{what}: {words}, {time.monotonic() - begun:.0f} s so far", flush=True)


def _is_good(report: Report) -> bool:
    return not report.faults and max(report.ready, default=0.0) <= SOONEST


if __name__ == "__main__":
    sys.exit(main())
