"""How fast a program gets going. In: a workbench. Out: time to a connected session, and what the import costs."""

from __future__ import annotations

from statistics import median

from benchmarks.figures import Section, at_most
from benchmarks.workbench import PEER, Workbench

__all__ = ["measure"]

ROUNDS, IMPORT_ROUNDS = 12, 24
BASE = "import asyncio, msgspec"
IMPORT = "import handrail; handrail.Session"
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
    """Each round starts every program once, one after the other; the first round only compiles."""
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
    programs = {"python": "pass", BASE: BASE, IMPORT: IMPORT}
    imports: dict[str, list[float]] = {name: [] for name in programs}
    for _ in bench.rounds(IMPORT_ROUNDS, "importing"):
        for name, code in programs.items():
            imports[name].append(bench.cpu_seconds(bench.ours, code))
    middle = {name: median(times) for name, times in imports.items()}
    ratio, import_ratio = median(ours) / median(peers), middle[IMPORT] / middle[BASE]
    return Section(
        "Starting",
        "Wall time from the start of the interpreter to a session that has shaken hands with a child that answers at "
        f"once; median of {len(ours)} rounds, in turns. Below it the CPU time of interpreters that only import, "
        f"median of {len(imports[BASE])}. Bytecode is compiled in all of them.",
        ("", "time"),
        (
            ("Handrail, connected", _milliseconds(median(ours))),
            (f"{PEER}, connected", _milliseconds(median(peers))),
            ("ratio", f"{ratio:.2f}×"),
            *((f"`{name}`", _milliseconds(time)) for name, time in middle.items()),
            ("ratio of the last two", f"{import_ratio:.2f}×"),
        ),
        (
            at_most("time to a connected session, against the official SDK", 0.5, ratio),
            at_most(f"`{IMPORT}`, against `{BASE}`", 1.6, import_ratio),
        ),
    )


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"
