"""Runs the benchmarks, prints tables and writes docs/benchmarks.md. Exits with 1 if a promise is broken.

A run of selected benchmarks updates only their sections; a quick run does not change the page.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

from rich.console import Console

from benchmarks import (
    acp,
    agent_late_turns,
    agent_resume,
    agent_startup,
    agent_turns,
    bridge_delays,
    bridge_fanout,
    bridge_groups,
    bridge_growth,
    bridge_prewarmed,
    bridge_sizes,
    cage,
    cluster,
    cluster_lines,
    permission_decisions,
    sdk_memory,
    sdk_shim,
    sdk_startup,
    sdk_throughput,
    web_page,
)
from benchmarks.figures import Section
from benchmarks.page import PAGE, page_of, show
from benchmarks.workbench import Workbench, peer_version, workbench

BENCHMARKS: dict[str, Callable[[Workbench], Section]] = {
    "sdk_throughput": sdk_throughput.measure,
    "sdk_memory": sdk_memory.measure,
    "sdk_startup": sdk_startup.measure,
    "sdk_shim": sdk_shim.measure,
    "agent_startup": agent_startup.measure,
    "agent_turns": agent_turns.measure,
    "agent_late_turns": agent_late_turns.measure,
    "agent_resume": agent_resume.measure,
    "permission_decisions": permission_decisions.measure,
    "cage": cage.measure,
    "bridge_delays": bridge_delays.measure,
    "bridge_groups": bridge_groups.measure,
    "bridge_fanout": bridge_fanout.measure,
    "bridge_sizes": bridge_sizes.measure,
    "bridge_growth": bridge_growth.measure,
    "bridge_prewarmed": bridge_prewarmed.measure,
    "acp": acp.measure,
    "web_page": web_page.measure,
    "cluster": cluster.measure,
    "cluster_lines": cluster_lines.measure,
}


def main() -> int:
    """Run the selected benchmarks and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measures the promises of the docs.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of: {', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="fewer rounds; does not update docs/benchmarks.md")
    asked = parser.parse_args()
    if unknown := [name for name in asked.names if name not in BENCHMARKS]:
        parser.error(f"unknown benchmark {unknown[0]}; choose from {', '.join(BENCHMARKS)}")
    console, errors = Console(), Console(stderr=True)
    try:
        peer = peer_version()
        sections = _measure(asked.names or list(BENCHMARKS), console, errors, quick=asked.quick)
    except RuntimeError as error:
        errors.print(f"[bold red]benchmarks:[/] {error}", highlight=False)
        return 1
    if not asked.quick:
        PAGE.write_text(page_of(sections, peer, PAGE.read_text() if asked.names else ""))
        console.print(f"written: docs/{PAGE.name}")
    return 0 if all(promise.kept for section in sections for promise in section.promises) else 1


def _measure(names: list[str], console: Console, errors: Console, *, quick: bool) -> list[Section]:
    found: list[Section] = []
    with errors.status("") as status, workbench(status.update, quick=quick) as bench:
        started = time.monotonic()
        for number, name in enumerate(names, 1):
            begun = time.monotonic()
            console.print(f"{name} ({number} of {len(names)})")
            found.append(BENCHMARKS[name](bench))
            show(console, found[-1:])
            console.print(f"{name} took {time.monotonic() - begun:.0f} s; {time.monotonic() - started:.0f} s in all\n")
    return found


if __name__ == "__main__":
    sys.exit(main())
