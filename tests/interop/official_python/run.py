"""Runs scenarios with the official Python SDK.

Reads `[{"scenario": NAME, "environment": {...}}, …]` from stdin and prints one JSON line per scenario: its name and
the failure or null. It runs in an environment that has the SDK but not Handrail.
"""

from __future__ import annotations

import asyncio
import json
import sys
import traceback

import hooking
import moving
import permitting
import remembering
import setting
import speaking
from stage import SCENARIOS, Stage

PARTS = (speaking, permitting, hooking, moving, remembering, setting)
LIMIT = 90.0


async def play(name: str, environment: dict[str, str]) -> str | None:
    """Run one scenario. Returns the failure, or None."""
    try:
        async with asyncio.timeout(LIMIT):
            await SCENARIOS[name](Stage.enter(environment))
    except (Exception, asyncio.CancelledError):
        return traceback.format_exc()
    return None


if __name__ == "__main__":
    for one in json.load(sys.stdin):
        failed = asyncio.run(play(one["scenario"], one["environment"]))
        print(json.dumps({"scenario": one["scenario"], "failed": failed}), flush=True)
