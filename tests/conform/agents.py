"""Commands to check, and functions that run checks against them."""

from __future__ import annotations

import sys

from handrail.conform.battery import Outcome, chosen, run_battery

AGENT = [sys.executable, "-m", "handrail.agent.main"]


def faulty(fault: str) -> list[str]:
    """The command of our agent with one seeded fault."""
    return [sys.executable, "-m", "handrail.testing.faulty_agent", fault, "--", *AGENT]


async def outcomes(command: list[str], *patterns: str, jobs: int = 2, limit: float = 90) -> dict[str, Outcome]:
    """Run the matching checks and return their outcomes by name."""
    return {each.name: each async for each in run_battery(command, chosen(patterns), jobs=jobs, limit=limit)}


async def drifts(command: list[str], *patterns: str) -> dict[str, str]:
    """The names of the checks that drifted, with what was seen."""
    found = await outcomes(command, *patterns)
    return {name: each.seen for name, each in found.items() if each.verdict == "drifted"}
