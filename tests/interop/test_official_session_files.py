"""The session functions of the official Python SDK on sessions of handrail-agent, without CLAUDE_CONFIG_DIR."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail import Options, Session
from handrail.testing import Lab, Script, When, reply, text, tool_use
from handrail.transcripts import list_sessions

HERE = Path(__file__).parent
AGENT = Path(sys.executable).parent / "handrail-agent"
SDK = os.environ.get("HANDRAIL_PYTHON_SDK", "")
LIMIT = 60.0
LOOK = {"description": "look", "prompt": "look closely", "subagent_type": "general-purpose", "run_in_background": False}
SCRIPT = Script.of(
    reply(text("A mouse."), when=When(prompt="look closely")),
    reply(text("It saw a mouse."), when=When(tool_result="A mouse.")),
    reply(text("I remember it."), when=When(said="It saw a mouse.")),
    [tool_use("Bash", command="echo left"), tool_use("Task", **LOOK)],
)


async def official(lab: Lab, function: str, *arguments: str) -> Any:
    """Call a function of the SDK in the lab, and return its result."""
    child = await asyncio.create_subprocess_exec(
        *(SDK, "-B", str(HERE / "official_session_files.py"), function, *arguments),
        cwd=lab.project,
        env=lab.environment(HANDRAIL_SCRIPT=str(lab.root / "script.json")),
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(LIMIT):
        output, _ = await child.communicate()
    assert child.returncode == 0
    return json.loads(output)


@pytest.fixture(autouse=True)
def sdk() -> None:
    """The SDK. Tests fail without it, since skipped tests would look like success."""
    if not Path(SDK).is_file():
        pytest.fail(f"HANDRAIL_PYTHON_SDK names no file ({SDK!r}): run `make interop`", pytrace=False)


@pytest.fixture
async def session(lab: Lab) -> str:
    """A session of handrail-agent with parallel calls and a subagent. Returns its id."""
    script = lab.root / "script.json"
    script.write_bytes(SCRIPT.to_json())
    environment = lab.environment(HANDRAIL_SCRIPT=str(script))
    assert "CLAUDE_CONFIG_DIR" not in environment
    options: dict[str, Any] = {"permission_mode": "bypassPermissions"}
    async with Session(Options(cli_path=AGENT, cwd=lab.project, env=environment, **options)) as session:
        await session.ask("who is there?")
    return session.id


async def test_list_sessions(lab: Lab, session: str):
    [info] = await official(lab, "list_sessions", str(lab.project))
    assert (info["session_id"], info["summary"]) == (session, "who is there?")
    assert (info["first_prompt"], info["cwd"]) == ("who is there?", str(lab.project))
    assert info["created_at"]
    assert (await official(lab, "get_session_info", session))["session_id"] == session


async def test_get_session_messages(lab: Lab, session: str):
    messages = await official(lab, "get_session_messages", session)
    assert [message["type"] for message in messages] == ["user", *["assistant"] * 2, *["user"] * 2, "assistant"]
    assert messages[0]["message"]["content"] == "who is there?"
    assert messages[-1]["message"]["content"][0]["text"] == "It saw a mouse."


async def test_subagents_name_the_call_that_started_them(lab: Lab, session: str):
    [call] = [
        block["id"]
        for message in await official(lab, "get_session_messages", session)
        for block in message["message"]["content"]
        if isinstance(block, dict) and block["type"] == "tool_use" and block["name"] == "Task"
    ]
    [agent] = await official(lab, "list_subagents", session)
    messages = await official(lab, "get_subagent_messages", session, agent)
    assert {message["parent_tool_use_id"] for message in messages} == {call}
    assert messages[-1]["message"]["content"][0]["text"] == "A mouse."


async def test_rename_session(lab: Lab, session: str):
    await official(lab, "rename_session", session, "The mouse")
    [info] = await official(lab, "list_sessions", str(lab.project))
    assert (info["summary"], info["custom_title"]) == ("The mouse", "The mouse")
    assert await official(lab, "resume", str(AGENT), session, "and now?") == "I remember it."
    [ours] = list_sessions(lab.project, config_home=lab.home / ".claude")
    assert ours.title == "The mouse"
    [again] = await official(lab, "list_sessions", str(lab.project))
    assert again["custom_title"] == "The mouse"


async def test_fork_session_is_resumed_by_the_agent(lab: Lab, session: str):
    fork = (await official(lab, "fork_session", session))["session_id"]
    assert fork != session
    assert await official(lab, "resume", str(AGENT), fork, "and now?") == "I remember it."
    forked = await official(lab, "get_session_messages", fork)
    assert len(forked) == len(await official(lab, "get_session_messages", session)) + 2


async def test_delete_session(lab: Lab, session: str):
    await official(lab, "delete_session", session)
    assert await official(lab, "list_sessions", str(lab.project)) == []
