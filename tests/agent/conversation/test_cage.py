"""Commands that only read run in the cage, and the user is asked when it stops one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from handrail.agent.models.script import Script, text, tool_use
from tests.agent.stage import StagedHost, stage
from tests.cage.caged import needs_guard

pytestmark = needs_guard

WRITES = "ptx -G inside.txt made.txt"
"""Allowed only in the cage, because ptx usually reads; with -G it writes a file."""


def allow(request: Any) -> dict[str, Any]:
    return {"behavior": "allow"}


def deny(request: Any) -> dict[str, Any]:
    return {"behavior": "deny", "message": "not today"}


async def run(folder: Path, command: str, *flags: str, answer: Any = allow, asks: bool = True) -> StagedHost:
    """Run one command of the model in a project with a file."""
    project = folder / "project"
    project.mkdir()
    (project / "inside.txt").write_text("INSIDE\n")
    async with stage(folder, Script.of(tool_use("Bash", command=command), text("ok")), *flags, asks=asks) as host:
        host.answers["can_use_tool"] = answer
        await host.turn("go")
        return host


def result(host: StagedHost) -> dict[str, Any]:
    return host.results_of_tools()[0]


async def test_reading_command_is_caged_and_not_asked_about(tmp_path: Path):
    host = await run(tmp_path, "ptx inside.txt | cat - inside.txt")
    assert not host.requests("can_use_tool")
    assert str(result(host)["content"]).endswith("INSIDE")


async def test_command_that_a_rule_allows_is_not_caged(tmp_path: Path):
    host = await run(tmp_path, "printenv TMPDIR; touch made.txt", "--allowedTools", "Bash(touch:*) Bash(printenv:*)")
    assert "handrail-cage-" not in result(host)["content"]
    assert (tmp_path / "project" / "made.txt").exists()


async def test_stopped_command_is_asked_about_with_what_it_tried(tmp_path: Path):
    host = await run(tmp_path, WRITES)
    asked = host.requests("can_use_tool")
    assert [request["decision_reason_type"] for request in asked] == ["sandboxOverride"]
    assert "made.txt: Permission denied" in asked[0]["decision_reason"]
    assert (tmp_path / "project" / "made.txt").exists()
    assert not result(host)["is_error"]


async def test_stopped_command_stays_in_the_cage_if_the_user_refuses(tmp_path: Path):
    host = await run(tmp_path, WRITES, answer=deny)
    assert len(host.requests("can_use_tool")) == 1
    assert not (tmp_path / "project" / "made.txt").exists()
    assert result(host)["is_error"]
    assert "made.txt: Permission denied" in result(host)["content"]
    assert "not today" in result(host)["content"]


async def test_refusal_can_end_the_turn(tmp_path: Path):
    host = await run(tmp_path, WRITES, answer=lambda request: {**deny(request), "interrupt": True})
    assert not (tmp_path / "project" / "made.txt").exists()
    assert host.of("result")[-1]["permission_denials"]


async def test_changed_command_runs_outside_of_the_cage(tmp_path: Path):
    def edit(request: Any) -> dict[str, Any]:
        return {"behavior": "allow", "updatedInput": {"command": "echo edited > other.txt"}}

    await run(tmp_path, WRITES, answer=edit)
    assert (tmp_path / "project" / "other.txt").read_text() == "edited\n"
    assert not (tmp_path / "project" / "made.txt").exists()


async def test_stopped_command_is_refused_if_no_one_can_be_asked(tmp_path: Path):
    host = await run(tmp_path, WRITES, asks=False)
    assert not (tmp_path / "project" / "made.txt").exists()
    assert result(host)["is_error"]


async def test_stopped_command_is_refused_in_the_mode_that_never_asks(tmp_path: Path):
    host = await run(tmp_path, WRITES, "--permission-mode", "dontAsk")
    assert not host.requests("can_use_tool")
    assert not (tmp_path / "project" / "made.txt").exists()
