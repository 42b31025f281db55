"""Commands that checks are run against. In: a fault or nothing. Out: the command, and the outcomes by name."""

from __future__ import annotations

import sys

from handrail.conform.battery import Outcome, chosen, run_battery

AGENT = [sys.executable, "-m", "handrail.agent.main"]


def faulty(fault: str) -> list[str]:
    """Our agent, wrong in one way."""
    return [sys.executable, "-m", "handrail.testing.faulty_agent", fault, "--", *AGENT]


async def outcomes(command: list[str], *patterns: str, jobs: int = 2, limit: float = 90) -> dict[str, Outcome]:
    """What came of the checks."""
    return {each.name: each async for each in run_battery(command, chosen(patterns), jobs=jobs, limit=limit)}


async def drifts(command: list[str], *patterns: str) -> dict[str, str]:
    """The checks that drifted, and what was seen."""
    found = await outcomes(command, *patterns)
    return {name: each.seen for name, each in found.items() if each.verdict == "drifted"}
