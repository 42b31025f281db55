"""The official SDKs with our agent.

The scenarios are in `official_python/` and `official_typescript/`, and run in processes that have the SDK and nothing
of Handrail, one for each part of each SDK. With HANDRAIL_OFFICIAL_AGENT=claude the real CLI plays the same scenarios,
which shows that they are true.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from handrail.testing import Lab, Script, ScriptedMessagesApi, real_cli
from tests.interop.official_scripts import PARTS, SDKS, scenarios
from tests.interop.scenario import ended

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
PYTHON_SDK, TYPESCRIPT_SDK = "HANDRAIL_PYTHON_SDK", "HANDRAIL_TYPESCRIPT_SDK"
NAMED = {variable: os.environ.get(variable, "") for variable in (PYTHON_SDK, TYPESCRIPT_SDK)}
REAL = os.environ.get("HANDRAIL_OFFICIAL_AGENT") == "claude"
"""Read at import, because tests run without these variables."""
GRACE = 15.0
LIMIT = 110.0
"""Seconds without a report; a scenario gives up before."""

Reports = dict[str, tuple[str | None, list[int]]]
"""Failure and remaining processes, by scenario."""


def command(sdk: str) -> list[str]:
    """The command that runs a part: the Python with the SDK, or node."""
    if sdk == "python":
        return [named(PYTHON_SDK), "-B", str(HERE / "official_python" / "run.py")]
    named(TYPESCRIPT_SDK)
    node = shutil.which("node") or shutil.which("node", path=BIN)
    assert node, "node not found on PATH or beside this Python"
    return [node, str(HERE / "official_typescript" / "run.mjs")]


def named(variable: str) -> str:
    """A path that `make interop` sets. Tests fail without it, since skipped tests would look like success."""
    if not Path(NAMED[variable]).is_file():
        pytest.fail(f"{variable} is not the path of a file ({NAMED[variable]!r}): run `make interop`", pytrace=False)
    return NAMED[variable]


def surroundings(script: Script, lab: Lab, api: ScriptedMessagesApi) -> dict[str, str]:
    """The environment of a scenario: its folders, its agent, its model."""
    written = script.to_json().replace(b"/OUTSIDE", os.fsencode(lab.outside))
    stage = {
        "STAGE_PROJECT": str(lab.project),
        "STAGE_OUTSIDE": str(lab.outside),
        "CLAUDE_CONFIG_DIR": str(lab.home / ".claude"),
    }
    if REAL:
        return lab.environment(api.session(Script.from_json(written)), STAGE_AGENT=str(real_cli()), **stage)
    file = lab.root / "script.json"
    file.write_bytes(written)
    return lab.environment(STAGE_AGENT=str(BIN / "handrail-agent"), HANDRAIL_SCRIPT=str(file), **stage)


async def play(sdk: str, part: str, root: Path) -> Reports:
    """Run all scenarios of a part, one after another in one process."""
    labs = {name: Lab(root / name) for name in scenarios(sdk, part)}
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(ScriptedMessagesApi())
        orders = [
            {"scenario": name, "environment": surroundings(PARTS[part][name], lab, api)} for name, lab in labs.items()
        ]
        with (root / "complaints").open("wb") as complaints:
            child = await asyncio.create_subprocess_exec(
                *command(sdk),
                env=Lab(root).environment(**{TYPESCRIPT_SDK: NAMED[TYPESCRIPT_SDK]}),
                cwd=root,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=complaints,
                limit=2**24,
            )
        stack.push_async_callback(end, child)
        return await reports(child, orders, labs)


async def reports(child: asyncio.subprocess.Process, orders: list[dict[str, Any]], labs: dict[str, Lab]) -> Reports:
    """The reports of the process, one per scenario."""
    assert child.stdin
    assert child.stdout
    child.stdin.write(json.dumps(orders).encode())
    await child.stdin.drain()
    child.stdin.close()
    heard: Reports = {}
    for _ in orders:
        async with asyncio.timeout(LIMIT):
            line = await child.stdout.readline()
        if not line:
            break
        report = json.loads(line)
        heard[report["scenario"]] = (report["failed"], await left_behind(labs[report["scenario"]]))
    return heard


async def left_behind(lab: Lab) -> list[int]:
    """The processes that a scenario left, after a grace period."""
    with suppress(TimeoutError):
        async with asyncio.timeout(GRACE):
            for pid in lab.leftovers():
                await ended(pid)
    return lab.leftovers()


async def end(child: asyncio.subprocess.Process) -> None:
    if child.returncode is None:
        child.kill()
    await child.wait()


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Reports]:
    """The parts that this process has run."""
    return {}


@pytest.mark.parametrize(
    ("sdk", "part", "name"),
    [
        pytest.param(sdk, part, name, id=f"{sdk}-{name}", marks=pytest.mark.xdist_group(f"{sdk}-{part}"))
        for sdk in SDKS
        for part in PARTS
        for name in scenarios(sdk, part)
    ],
)
async def test_official_sdk_scenario_passes(
    sdk: str,
    part: str,
    name: str,
    played: dict[tuple[str, str], Reports],
    tmp_path_factory: pytest.TempPathFactory,
):
    root = tmp_path_factory.getbasetemp() / f"{sdk}-{part}"
    if (sdk, part) not in played:
        root.mkdir()
        played[sdk, part] = await play(sdk, part, root)
    assert name in played[sdk, part], f"the process ended before: {(root / 'complaints').read_text()}"
    failed, leftovers = played[sdk, part][name]
    assert failed is None, failed
    assert leftovers == [], "processes were left behind"


@pytest.mark.parametrize("sdk", SDKS)
def test_each_sdk_runs_at_least_twenty_five_scenarios(sdk: str):
    assert sum(len(scenarios(sdk, part)) for part in PARTS) >= 25
