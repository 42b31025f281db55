"""Runs scenarios with one SDK: `python -m tests.interop.shim_scenarios.run MODULE`.

Reads `[{"scenario": NAME, "loop": "asyncio" or "trio", "environment": {…}}, …]` from stdin. Writes a JSON line for each
with the values that the caller saw, the calls of its callbacks, and a traceback or null.
"""

from __future__ import annotations

import importlib
import json
import sys
import traceback
import warnings
from typing import Any

import anyio

from tests.interop.shim_scenarios.catalogue import SCENARIOS
from tests.interop.shim_scenarios.stage import Stage

LIMIT = 80.0


async def play(stage: Stage, name: str) -> None:
    with anyio.fail_after(LIMIT):
        await SCENARIOS[name].body(stage.sdk, stage)


def report(sdk: Any, order: dict[str, Any]) -> dict[str, Any]:
    stage = Stage(sdk, order["environment"])
    failed = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            anyio.run(play, stage, order["scenario"], backend=order["loop"])
        except BaseException:
            failed = traceback.format_exc()
    return {"seen": stage.seen, "called": stage.called, "failed": failed}


if __name__ == "__main__":
    module = importlib.import_module(sys.argv[1])
    for order in json.load(sys.stdin):
        print(json.dumps(report(module, order)), flush=True)
