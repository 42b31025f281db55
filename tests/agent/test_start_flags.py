"""Flags that concern the start: resuming, the handshake, policy settings and the state of the session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.errors import Refused
from handrail.agent.models.script import Script, text, tool_use
from tests.agent.stage import stage

PROMPTS = [f"0a0a0a0a-0000-4000-8000-00000000000{number}" for number in range(1, 4)]


async def talk(folder: Path) -> tuple[str, list[str]]:
    """A session of two turns. Returns its id and the uuids of its answers."""
    async with stage(folder, Script.of(text("one"), text("two"))) as host:
        for number in range(2):
            result = await host.turn(f"prompt {number}", uuid=PROMPTS[number])
        answers = [line["uuid"] for line in host.of("assistant")]
    return result["session_id"], answers


async def test_resume_drops_the_declared_turn(tmp_path: Path):
    id, answers = await talk(tmp_path)
    flags = (f"--resume={id}", f"--resume-session-at={answers[0]}", f"--resume-drops-turn={PROMPTS[1]}")
    async with stage(tmp_path, Script.of(text("three")), *flags) as host:
        await host.turn("again")
        asked = json.dumps(host.model.asked[0]["messages"])
    assert "prompt 0" in asked
    assert "prompt 1" not in asked


@pytest.mark.parametrize("wanted", ["7", "#7", "https://github.com/o/r/pull/7", "https://github.com/o/r/pull/7/files"])
async def test_from_pr_continues_the_linked_session(tmp_path: Path, wanted: str):
    async with stage(tmp_path, Script.of(text("one"))) as host:
        id = (await host.turn("first"))["session_id"]
        path = host.engine.transcript.path
    link = {"type": "pr-link", "sessionId": id, "prNumber": 7, "prRepository": "o/r", "prUrl": "x"}
    with path.open("a") as file:
        file.write(json.dumps(link, separators=(",", ":")) + "\n")
    async with stage(tmp_path, Script.of(text("two")), "--from-pr", wanted) as host:
        assert (await host.turn("second"))["session_id"] == id


@pytest.mark.parametrize("wanted", ["8", "https://github.com/o/other/pull/7", "words"])
async def test_from_pr_without_a_linked_session_begins_one(tmp_path: Path, wanted: str):
    async with stage(tmp_path, Script.of(text("one"))) as host:
        id = (await host.turn("first"))["session_id"]
    async with stage(tmp_path, Script.of(text("two")), "--from-pr", wanted) as host:
        assert (await host.turn("second"))["session_id"] != id


async def test_await_initialize_holds_prompts_back(tmp_path: Path):
    async with stage(tmp_path, Script.of(text("hi")), "--await-initialize") as host:
        await host.say("first")
        await host.control("get_binary_version")
        assert host.of("system", "init") == []
        await host.control("initialize", systemPrompt=["ONLY THIS"])
        await host.result()
        assert host.model.asked[0]["system"][0]["text"] == "ONLY THIS"


async def test_policy_settings_of_the_handshake_are_in_force(tmp_path: Path):
    flags = ("--await-initialize", "--managed-settings-in-initialize")
    async with stage(tmp_path, Script.of(text("hi")), *flags) as host:
        await host.control("initialize", managedSettings={"permissions": {"deny": ["Bash"]}})
        await host.turn("go")
        assert "Bash" not in [tool["name"] for tool in host.model.asked[0]["tools"]]


async def test_unexpected_policy_settings_are_refused(tmp_path: Path):
    async with stage(tmp_path, Script.of(text("hi"))) as host:
        answer = await host.control("initialize", managedSettings={"model": "opus"})
        assert answer["subtype"] == "error"
        assert "--managed-settings-in-initialize" in answer["error"]


async def test_permission_prompts_of_none_deny_what_would_be_asked(tmp_path: Path):
    replies = Script.of(tool_use("Bash", command="touch made"), text("done"))
    async with stage(tmp_path, replies, "--permission-prompts", "none") as host:
        await host.turn("go")
        assert host.requests("can_use_tool") == []
        assert host.results_of_tools()[0]["is_error"] is True


async def test_an_agent_of_the_handshake_can_lead(tmp_path: Path):
    async with stage(tmp_path, Script.of(text("hi")), "--agent", "pirate") as host:
        await host.control("initialize", agents={"pirate": {"description": "d", "prompt": "ARR", "tools": ["Read"]}})
        await host.turn("go")
        asked = host.model.asked[0]
    assert asked["system"][0]["text"] == "ARR"
    assert [tool["name"] for tool in asked["tools"]] == ["Read"]


async def test_unknown_agent_is_reported_and_the_session_continues(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    async with stage(tmp_path, Script.of(text("hi")), "--agent", "stranger") as host:
        assert (await host.turn("go"))["is_error"] is False
    assert "--agent 'stranger' not found" in capsys.readouterr().err


STATES = {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1"}
FOR_SDK = {"CLAUDE_CODE_SDK_READS_SESSION_STATE": "1"}


@pytest.mark.parametrize(("environment", "marked"), [(STATES, None), (FOR_SDK, True)])
async def test_states_of_the_session_are_reported(tmp_path: Path, environment: dict[str, str], marked: Any):
    replies = Script.of(tool_use("Bash", command="touch made"), text("done"))
    async with stage(tmp_path, replies, environment=environment) as host:
        await host.turn("go")
        await host.until(lambda: len(host.of("system", "session_state_changed")) == 4)
        states = host.of("system", "session_state_changed")
    assert [line["state"] for line in states] == ["running", "requires_action", "running", "idle"]
    assert {line.get("sdk_host_only") for line in states} == {marked}
    assert host.lines.index(host.of("result")[0]) < host.lines.index(states[3])


async def test_states_are_not_reported_unasked(tmp_path: Path):
    async with stage(tmp_path, Script.of(text("hi"))) as host:
        await host.turn("go")
    assert host.of("system", "session_state_changed") == []


async def test_a_missing_prompt_tool_ends_the_session(tmp_path: Path):
    replies = Script.of(tool_use("Bash", command="touch made"), text("done"))
    with pytest.raises(Refused, match="MCP tool mcp__none__ask .* not found"):  # noqa: PT012 - its end raises
        async with stage(tmp_path, replies, "--permission-prompt-tool", "mcp__none__ask", asks=False) as host:
            await host.say("go")
            await host.exit_code()
    assert host.of("result") == []
