"""The same scenarios with the official SDK and with `handrail.claude_agent_sdk`: the caller sees the same.

Both drive the real CLI with a scripted model. Compared are the classes and fields of all messages, the arguments of
callbacks, returned values and raised errors. Ids are numbered in the order of their appearance; times, durations, costs
and the folders of a run are replaced. The uuids of prompts, which only Handrail sends, are left out.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from contextlib import AsyncExitStack, suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from handrail.testing import Lab, Script, ScriptedMessagesApi
from tests.interop.scenario import ended
from tests.interop.shim_scenarios.catalogue import SCENARIOS

ROOT = Path(__file__).parents[2]
OFFICIAL_PYTHON = os.environ.get("HANDRAIL_PYTHON_SDK", "")
"""Read at import: the tests themselves run without such variables."""
SDKS = {"claude_agent_sdk": OFFICIAL_PYTHON, "handrail.claude_agent_sdk": sys.executable}
LIMIT = 90.0
"""Seconds without a report; a scenario gives up before."""
GRACE = 15.0

Run = tuple[str, str]
"""The name of a scenario, and an event loop."""
Played = dict[Run, dict[str, Any]]
"""The reports of one SDK."""

BATCH = 2
"""Runs in one process: importing the SDK takes as long as a scenario, and a test may take two minutes."""
RUNS: list[Run] = [(name, loop) for name, scenario in SCENARIOS.items() for loop in scenario.loops]
BATCHES = [RUNS[start : start + BATCH] for start in range(0, len(RUNS), BATCH)]

_ID_KEYS = {"task_id", "taskId", "agent_id", "agentId", "run_id", "hook_id", "backgroundTaskId", "request_id"}
_IDS = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|\b(?:toolu|msg|req|call)_\w+"
    r"|\d+(?=\.sock\b)"
    r"|(?<=plans/)[\w-]+(?=\.md)"
    r"|(?<=blob-)\d+-\w+(?=\.png)"
    r"|(?<=/tmp/)[\w-]+(?=/projects/)"
)
_TIME = re.compile(r"(?<=duration_ms: )\d+|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z?")
_MEASURED = re.compile(
    r"(?:_ms|Ms|_time|_at|cost|USD|cost_usd|duration|timestamp|modified|file_size|pid)$", re.IGNORECASE
)


_STAMPS = {"user_message_uuid", "user_message_uuids"}
"""Handrail sends every prompt with a uuid, by which it finds the results of the prompt; the CLI repeats it here."""


class Normalizer:
    """Replaces what differs between two runs of the same scenario. Ids become numbers, in the order of appearance."""

    def __init__(self, lab: Lab) -> None:
        folder = str(lab.root)
        self._folders = [folder, re.sub(r"[^a-zA-Z0-9]", "-", folder)]
        self._numbers: dict[str, str] = {}
        self._known: set[str] = set()

    def __call__(self, report: Any) -> Any:
        self._learn(report)
        return self._replaced(report)

    def _learn(self, value: Any, key: str = "") -> None:
        """Collect the ids that only their key identifies: they appear in texts too."""
        if isinstance(value, dict):
            for name, item in value.items():
                self._learn(item, name)
        elif isinstance(value, list):
            for item in value:
                self._learn(item, key)
        elif isinstance(value, str) and key in _ID_KEYS and len(value) > 5:
            self._known.add(value)

    def _replaced(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {self._text(name): self._replaced(item, name) for name, item in value.items() if name not in _STAMPS}
        if isinstance(value, list):
            items = [self._replaced(item, key) for item in value]
            # Handrail sends the schema of an answer in the handshake, so its tool is not at the same place.
            return sorted(items) if key == "tools" and "Bash" in items else items
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and _MEASURED.search(key):
            return "<measured>"
        return value

    def _text(self, value: str) -> str:
        # An interrupt by a denial comes before or after the end of the CLI's stream.
        value = value.replace("interrupted by user for tool use", "interrupted by user")
        value = value.replace("aborted_tools", "aborted_streaming")
        for folder in self._folders:
            value = value.replace(folder, "<lab>")
        for id in self._known:
            if id in value:
                value = value.replace(id, self._number(id))
        return _IDS.sub(lambda found: self._number(found[0]), _TIME.sub("<time>", value))

    def _number(self, id: str) -> str:
        return self._numbers.setdefault(id, f"<id {len(self._numbers) + 1}>")


async def play(module: str, runs: list[Run], root: Path, cli: Path) -> Played:
    """Runs with one SDK, one after another in one process."""
    labs = [Lab(root / f"{name}-{loop}") for name, loop in runs]
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(ScriptedMessagesApi())
        orders = [
            {"scenario": name, "loop": loop, "environment": _environment(name, lab, api, cli)}
            for (name, loop), lab in zip(runs, labs, strict=True)
        ]
        with (root / "stderr").open("wb") as stderr:
            child = await asyncio.create_subprocess_exec(
                *(SDKS[module], "-B", "-m", "tests.interop.shim_scenarios.run", module),
                env=Lab(root).environment(PYTHONPATH=str(ROOT)),
                cwd=root,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                limit=2**24,
            )
        stack.push_async_callback(_end, child)
        return await _reports(child, orders, labs)


def _environment(name: str, lab: Lab, api: ScriptedMessagesApi, cli: Path) -> dict[str, str]:
    written = json.dumps(SCENARIOS[name].script).replace("/OUTSIDE", str(lab.outside))
    return lab.environment(
        api.session(Script.from_json(written)),
        STAGE_CLI=str(cli),
        STAGE_PYTHON=sys.executable,
        STAGE_PROJECT=str(lab.project),
        STAGE_OUTSIDE=str(lab.outside),
    )


async def _reports(child: asyncio.subprocess.Process, orders: list[dict[str, Any]], labs: list[Lab]) -> Played:
    assert child.stdin
    assert child.stdout
    child.stdin.write(json.dumps(orders).encode())
    await child.stdin.drain()
    child.stdin.close()
    played: Played = {}
    for order, lab in zip(orders, labs, strict=True):
        async with asyncio.timeout(LIMIT):
            line = await child.stdout.readline()
        if not line:
            break
        report = json.loads(line)
        played[order["scenario"], order["loop"]] = {
            **Normalizer(lab)({"seen": report["seen"], "called": report["called"]}),
            "failed": report["failed"],
            "leftovers": await _left_behind(lab),
        }
    return played


async def _left_behind(lab: Lab) -> list[int]:
    """The processes that a scenario did not end; those that are about to may do so."""
    with suppress(TimeoutError):
        async with asyncio.timeout(GRACE):
            for pid in lab.leftovers():
                await ended(pid)
    return lab.leftovers()


async def _end(child: asyncio.subprocess.Process) -> None:
    if child.returncode is None:
        child.kill()
    await child.wait()


@pytest.fixture(scope="session")
def official() -> None:
    """The SDK. Tests fail without it, since skipped tests would look like success."""
    if not Path(OFFICIAL_PYTHON).is_file():
        pytest.fail(f"HANDRAIL_PYTHON_SDK names no file ({OFFICIAL_PYTHON!r}): run `make interop`", pytrace=False)


@pytest.fixture(scope="session")
def played() -> dict[int, list[Played]]:
    """The batches that this process has run with each SDK."""
    return {}


@pytest.fixture
async def both(
    batch: int, cli: Path, official: None, played: dict[int, list[Played]], tmp_path_factory: pytest.TempPathFactory
) -> list[Played]:
    """The reports of a batch, of each SDK."""
    if batch not in played:
        # Paths of equal length: the CLI uses another path if this one becomes too long.
        roots = [tmp_path_factory.mktemp(f"sdk-{letter}") for letter in "ab"]
        plays = [play(module, BATCHES[batch], root, cli) for module, root in zip(SDKS, roots, strict=True)]
        played[batch] = await asyncio.gather(*plays)
    return played[batch]


@pytest.mark.parametrize(
    ("batch", "run"),
    [
        pytest.param(batch, run, id="-".join(run), marks=pytest.mark.xdist_group(f"shim-{batch}"))
        for batch, runs in enumerate(BATCHES)
        for run in runs
    ],
)
async def test_caller_sees_the_same_with_both_sdks(batch: int, run: Run, both: list[Played]):
    for module, reports in zip(SDKS, both, strict=True):
        assert run in reports, f"the process of {module} ended before this scenario"
        assert reports[run]["failed"] is None, f"{module}: {reports[run]['failed']}"
        assert reports[run]["seen"], f"{module}: the scenario recorded nothing"
    official, ours = (reports[run] for reports in both)
    assert [as_caught(*pair) for pair in zip_longest(ours["seen"], official["seen"])] == official["seen"]
    assert ours["called"] == official["called"]
    assert ours["leftovers"] == []


def as_caught(ours: Any, official: Any) -> Any:
    """An error of ours with only the classes that the official one has: a caller that catches that catches ours."""
    if isinstance(ours, dict) and isinstance(official, dict) and ours.get("raised") and official.get("raised"):
        classes = [name for name in official["raised"] if name in ours["raised"]]
        return {name: value for name, value in ours.items() if name in official} | {"raised": classes}
    return ours


def test_there_are_at_least_sixty_scenarios():
    assert len(SCENARIOS) >= 60
