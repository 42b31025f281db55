"""The tour of the built-in script in the executable, with and without a host that answers."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail import (
    Allow,
    AssistantMessage,
    Deny,
    HandrailError,
    Options,
    PermissionRequest,
    Question,
    Session,
    mcp_server,
    tool,
)
from handrail.agent.models.builtin_script import DEMO_MODEL, builtin_stops
from handrail.schema.activity_messages import TaskStartedMessage
from handrail.schema.system_messages import (
    ApiRetryMessage,
    CompactBoundaryMessage,
    InitMessage,
    PermissionDeniedMessage,
)
from handrail.testing import Lab
from tests.interop.scenario import of, results_seen

AGENT = Path(sys.executable).with_name("handrail-agent")
LIMIT = 90.0
"""Seconds for a whole tour on a busy machine."""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    lab = Lab(tmp_path)
    yield lab
    assert lab.leftovers() == [], "processes were left behind"


def keyless(lab: Lab) -> dict[str, str]:
    """An environment without an API key and base URL."""
    return {"HOME": str(lab.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


def print_of(lab: Lab, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [AGENT, "-p", *arguments],
        cwd=lab.project,
        env=keyless(lab),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )


@tool
async def echo(text: str) -> str:
    """Say it again."""
    return f"you said {text}"


class Host:
    """Answers everything and records the requests."""

    def __init__(self, lab: Lab) -> None:
        self.asked: list[str] = []
        self.options = Options(
            cli_path=AGENT,
            cwd=lab.project,
            env=keyless(lab),
            can_use_tool=self.permit,
            answer_questions=self.answer,
            approve_plan=self.approve,
            mcp_servers=[mcp_server("lab", [echo])],
        )

    def permit(self, request: PermissionRequest) -> Allow:
        self.asked.append(request.tool_name)
        return Allow()

    def answer(self, questions: list[Question]) -> Any:
        self.asked.append("a question")
        return [questions[0].options[0].label]

    def approve(self, request: PermissionRequest) -> Allow:
        self.asked.append("a plan")
        return Allow()


async def test_host_that_answers_sees_the_whole_tour(lab: Lab):
    host = Host(lab)
    async with asyncio.timeout(LIMIT), Session(host.options) as session:
        turn = await session.send("Give me the tour, please!")
        messages = [message async for message in turn]
    said = [message.text for message in of(AssistantMessage, messages) if message.text]
    stops = [words.partition(":")[0] for words in said if words.startswith("Tour ")]
    count = len(builtin_stops())
    assert stops == [f"Tour {number} of {count}" for number in range(1, count + 1)]
    assert "really run" in turn.result.text
    assert {"Bash", "Write", "a question", "a plan", "mcp__lab__echo"} <= set(host.asked)
    assert [result.is_error for result in results_seen(messages)].count(True) == 2  # WebFetch and the missing file
    assert not of(PermissionDeniedMessage, messages)
    assert list(lab.project.iterdir()) == []


async def test_tour_shows_a_subagent_a_retry_and_compaction_for_free(lab: Lab):
    async with asyncio.timeout(LIMIT), Session(Host(lab).options) as session:
        turn = await session.send("tour")
        messages = [message async for message in turn]
    assert of(InitMessage, messages)[0].model == DEMO_MODEL
    assert {message.model for message in of(AssistantMessage, messages)} == {DEMO_MODEL}
    assert [retry.error_status for retry in of(ApiRetryMessage, messages)] == [529]
    assert len(of(TaskStartedMessage, messages)) == 1
    (boundary,) = of(CompactBoundaryMessage, messages)
    assert boundary.compact_metadata is not None
    assert boundary.compact_metadata.trigger == "auto"
    assert turn.result.cost_usd == 0


def test_introduction_without_a_key(lab: Lab):
    ran = print_of(lab, "hello")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "I am a script, not a model" in ran.stdout
    assert "ANTHROPIC_API_KEY" in ran.stdout


async def test_tour_calls_a_tool_of_the_demo_server_where_there_is_no_other(lab: Lab):
    host = Host(lab)
    async with asyncio.timeout(LIMIT), Session(host.options.replace(mcp_servers=[])) as session:
        turn = await session.send("tour")
        messages = [message async for message in turn]
    assert "mcp__demo__get_stairs" in host.asked
    assert any('"material":"oak"' in str(result.content) for result in results_seen(messages))
    assert list(lab.project.iterdir()) == []


async def test_interrupted_tour_removes_its_folder(lab: Lab):
    made: list[bool] = []

    def permit(request: PermissionRequest) -> Allow | Deny:
        if request.tool_name == "Bash":
            return Allow()
        made.append((lab.project / "handrail-tour").is_dir())
        return Deny("enough", interrupt=True)

    async with asyncio.timeout(LIMIT), Session(Host(lab).options.replace(can_use_tool=permit)) as session:
        await (await session.send("tour"))
        assert (made, list(lab.project.iterdir())) == ([True], [])


async def test_demo_is_the_only_model_and_costs_nothing(lab: Lab):
    async with asyncio.timeout(LIMIT), Session(Host(lab).options.replace(model="opus")) as session:
        assert [(one.value, one.display_name) for one in (await session.list_models()).models] == [
            (DEMO_MODEL, DEMO_MODEL)
        ]
        with pytest.raises(HandrailError, match="sonnet is not available in Demo mode; connect a model"):
            await session.set_model("sonnet")
        await session.set_model(None)
        result = await (await session.send("/model haiku"))
        assert "haiku is not available in Demo mode" in result.text
        result = await (await session.send("hello"))
    assert ({*result.message.model_usage}, result.cost_usd) == ({DEMO_MODEL}, 0)


def test_tour_without_write_permission_ends_early(lab: Lab):
    ran = print_of(lab, "tour")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "The tour ends here" in ran.stdout
    assert "acceptEdits" in ran.stdout
    assert list(lab.project.iterdir()) == []


def test_tour_in_print_mode_skips_questions_and_plans(lab: Lab):
    ran = print_of(lab, "tour", "--permission-mode=acceptEdits", "--output-format=stream-json", "--verbose")
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "really run" in lines[-1]["result"]
    assert (lines[-1]["is_error"], lines[-1]["total_cost_usd"]) == (False, 0)
    assert {denial["tool_name"] for denial in lines[-1]["permission_denials"]} == {"WebFetch", "mcp__demo__get_stairs"}
    assert list(lab.project.iterdir()) == []
