"""TaskStop ends commands and subagents in the background."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.script import Script, When, hang, reply, text, tool_use
from tests.agent.stage import StagedHost, stage

LOOP = "while true; do sleep 1; done"


async def started(host: StagedHost, prompt: str = "go") -> dict[str, Any]:
    """Run a turn that starts a task, and return its `task_started` line."""
    await host.turn(prompt)
    return host.of("system", "task_started")[-1]


async def stop(host: StagedHost, **given: Any) -> dict[str, Any]:
    """Run a turn that calls TaskStop, and return the line of its result."""
    host.model.play(tool_use("TaskStop", **given), text("stopped"))
    await host.turn("stop it")
    return host.of("user")[-1]


@pytest.mark.parametrize("field", ["task_id", "shell_id"])
async def test_a_background_command_is_stopped(tmp_path: Path, field: str):
    call = tool_use("Bash", command=LOOP, description="loop", run_in_background=True)
    async with stage(tmp_path, Script.of(call, text("it runs"))) as host:
        id = (await started(host))["task_id"]
        line = await stop(host, **{field: id})
        result = {
            "message": f"Successfully stopped task: {id} ({LOOP})",
            "task_id": id,
            "task_type": "local_bash",
            "command": LOOP,
        }
        assert line["tool_use_result"] == result
        assert json.loads(line["message"]["content"][0]["content"]) == result
        assert host.of("system", "task_updated")[-1]["patch"]["status"] == "killed"
        ended = host.of("system", "task_notification")[-1]
        assert (ended["status"], ended["summary"]) == ("stopped", "loop")
        assert not host.engine.tasks().running
        assert len(host.of("result")) == 2
        assert not host.requests("can_use_tool")


async def test_a_background_subagent_is_stopped_by_its_parent(tmp_path: Path):
    call = tool_use("Task", description="looks", prompt="look around", run_in_background=True)
    script = Script.of(call, reply(hang(), when=When(prompt="look around")), text("it runs"))
    async with stage(tmp_path, script) as host:
        id = (await started(host))["task_id"]
        detail = (await stop(host, task_id=id))["tool_use_result"]
        assert (detail["task_type"], detail["command"]) == ("local_agent", "looks")
        assert host.of("result")[-1]["subagent_stats"]["killed"] == {"parent": 1, "user": 0, "system": 0}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"task_id": "b0"}, "No task found with ID: b0"),
        ({"task_id": ""}, "Missing required parameter: task_id"),
        ({}, "Missing required parameter: task_id"),
    ],
)
async def test_an_unknown_task_is_an_error(tmp_path: Path, given: dict[str, str], problem: str):
    async with stage(tmp_path, Script.of(text("-"))) as host:
        line = await stop(host, **given)
        assert line["tool_use_result"] == f"Error: {problem}"
        assert line["message"]["content"][0]["content"] == f"<tool_use_error>{problem}</tool_use_error>"


async def test_a_task_that_has_ended_cannot_be_stopped(tmp_path: Path):
    call = tool_use("Bash", command=LOOP, run_in_background=True)
    async with stage(tmp_path, Script.of(call, text("it runs"))) as host:
        id = (await started(host))["task_id"]
        await stop(host, task_id=id)
        assert (await stop(host, task_id=id))["tool_use_result"] == f"Error: No task found with ID: {id}"


async def test_it_is_offered_only_if_something_can_run_in_the_background(tmp_path: Path):
    async with stage(tmp_path, Script.of(text("-"))) as host:
        assert "TaskStop" in host.engine.toolbox().names()
    variables = {"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1"}
    async with stage(tmp_path, Script.of(text("-")), environment=variables) as host:
        assert "TaskStop" not in host.engine.toolbox().names()
