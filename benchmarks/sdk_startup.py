"""Time to a connected session, and import time."""

from __future__ import annotations

from statistics import median

from benchmarks.figures import Section, at_most
from benchmarks.workbench import PEER, Workbench

__all__ = ["measure"]

ROUNDS, IMPORT_ROUNDS = 12, 24
BASE = "import asyncio, msgspec"
IMPORT = "import handrail; handrail.Session"
CODES = ("pass", BASE, IMPORT)
OURS = """
import asyncio, sys, time
import handrail
async def main():
    async with handrail.Session(handrail.Options(cli_path=sys.argv[1])):
        print(time.clock_gettime(time.CLOCK_MONOTONIC))
asyncio.run(main())
"""
PEERS = """
import asyncio, sys, time
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient
async def main():
    async with ClaudeSDKClient(ClaudeAgentOptions(cli_path=sys.argv[1])):
        print(time.clock_gettime(time.CLOCK_MONOTONIC))
asyncio.run(main())
"""


def measure(bench: Workbench) -> Section:
    """Each round starts every program once; the first round only compiles."""
    ours: list[float] = []
    peers: list[float] = []
    for number in bench.rounds(ROUNDS + 1, "starting a session"):
        times = (
            bench.seconds_until_said(bench.ours, OURS, bench.instant),
            bench.seconds_until_said(bench.peer, PEERS, bench.instant),
        )
        if number > 1:
            ours.append(times[0])
            peers.append(times[1])
    imports = _imports(bench)
    wall, cpu = ({code: median(run[i] for run in imports[code]) for code in CODES} for i in (0, 1))
    ratio, import_ratio = median(ours) / median(peers), wall[IMPORT] / wall[BASE]
    return Section(
        "Starting",
        "From the start of the interpreter to the end of the handshake with a child that answers at once; median of "
        f"{len(ours)} rounds, alternating. Below: whole runs of interpreters that only import, median of "
        f"{len(imports[BASE])}, alternating. All use compiled bytecode.",
        ("", "wall time", "CPU time"),
        (
            ("Handrail, connected", _milliseconds(median(ours)), ""),
            (f"{PEER}, connected", _milliseconds(median(peers)), ""),
            ("ratio", f"{ratio:.2f}×", ""),
            *((f"`{code}`", _milliseconds(wall[code]), _milliseconds(cpu[code])) for code in CODES),
            ("ratio of the last two", f"{import_ratio:.2f}×", f"{cpu[IMPORT] / cpu[BASE]:.2f}×"),
        ),
        (
            at_most("wall time to a connected session, against the official SDK", 0.5, ratio),
            at_most(f"wall time of `{IMPORT}`, against `{BASE}`", 1.6, import_ratio),
        ),
    )


def _imports(bench: Workbench) -> dict[str, list[tuple[float, float]]]:
    """Wall and CPU times of each piece of code, by round."""
    found: dict[str, list[tuple[float, float]]] = {code: [] for code in CODES}
    for _ in bench.rounds(IMPORT_ROUNDS, "importing"):
        for code in CODES:
            found[code].append(bench.seconds(bench.ours, code))
    return found


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"
