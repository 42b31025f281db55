"""`handrail.claude_agent_sdk` compared with the official SDK: the same programs, with another import."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.figures import Section, at_least, at_most
from benchmarks.workbench import PEER, PEER_MODULE, Workbench

__all__ = ["measure"]

MESSAGES = 50_000
ROUNDS, START_ROUNDS = 7, 12
OURS, PEERS = f"handrail.{PEER_MODULE}", PEER_MODULE
IMPORT = "from {} import ClaudeAgentOptions, ClaudeSDKClient, query"
CONNECT = """
import asyncio, sys, time
from {} import ClaudeAgentOptions, ClaudeSDKClient
async def main():
    async with ClaudeSDKClient(ClaudeAgentOptions(cli_path=sys.argv[1])):
        print(time.clock_gettime(time.CLOCK_MONOTONIC))
asyncio.run(main())
"""


def measure(bench: Workbench) -> Section:
    """Every round runs each program with both modules."""
    pythons = {OURS: bench.ours, PEERS: bench.peer}
    reads: dict[str, list[dict[str, Any]]] = {module: [] for module in pythons}
    for _ in bench.rounds(ROUNDS, "reading partial messages through the shim"):
        for module, python in pythons.items():
            reads[module].append(bench.figures(python, "read_with_peer.py", module, bench.flood, str(MESSAGES)))
    seen = {(run["messages"], run["length"]) for runs in reads.values() for run in runs}
    if len(seen) != 1:
        raise RuntimeError(f"the two did not read the same: {sorted(seen)}")
    connects, imports = _starts(bench, pythons)
    speed = {module: median(run["messages"] / run["wall"] for run in runs) for module, runs in reads.items()}
    cpu = {module: median(run["cpu"] / run["messages"] * 1e6 for run in runs) for module, runs in reads.items()}
    ratios = (
        speed[OURS] / speed[PEERS],
        cpu[OURS] / cpu[PEERS],
        connects[OURS] / connects[PEERS],
        imports[OURS] / imports[PEERS],
    )
    return Section(
        "The official interface",
        f"The same programs with `claude_agent_sdk` and with `handrail.claude_agent_sdk`: one turn of {MESSAGES:,} "
        f"partial messages (median of {len(reads[OURS])} rounds), from the start of the interpreter to the end of the "
        "handshake with a child that answers at once, and whole runs of interpreters that only import (median of "
        f"{START_ROUNDS} rounds), alternating. All use compiled bytecode.",
        ("", "messages/s", "CPU per message", "connected", "import"),
        (
            *(
                (
                    name,
                    f"{speed[module]:,.0f}",
                    f"{cpu[module]:.2f} µs",
                    _milliseconds(connects[module]),
                    _milliseconds(imports[module]),
                )
                for name, module in (("Handrail", OURS), (PEER, PEERS))
            ),
            ("ratio", *(f"{ratio:.2f}×" for ratio in ratios)),
        ),
        (
            at_least("messages per second of `handrail.claude_agent_sdk`, against the official SDK", 5, ratios[0]),
            at_most("wall time to a connected client of `handrail.claude_agent_sdk`, against it", 0.3, ratios[2]),
            at_most("wall time of an import of `handrail.claude_agent_sdk`, against it", 0.3, ratios[3]),
        ),
    )


def _starts(bench: Workbench, pythons: dict[str, str]) -> tuple[dict[str, float], dict[str, float]]:
    """Medians of the seconds to a connected client, and of an import. The first round only compiles."""
    connects: dict[str, list[float]] = {module: [] for module in pythons}
    imports: dict[str, list[float]] = {module: [] for module in pythons}
    for _ in bench.rounds(START_ROUNDS + 1, "starting through the shim"):
        for module, python in pythons.items():
            connects[module].append(bench.seconds_until_said(python, CONNECT.format(module), bench.instant))
            imports[module].append(bench.seconds(python, IMPORT.format(module))[0])
    return (
        {module: median(times[1:]) for module, times in connects.items()},
        {module: median(times[1:]) for module, times in imports.items()},
    )


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"
