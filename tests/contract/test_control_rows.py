"""Every row of the control tables: our client asks our agent, and the answer has the fields of its view."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail import ControlRefused, Session, mcp_server, tool
from handrail.agent.models.script import Script
from handrail.schema import agent_requests
from handrail.schema.activity_messages import TaskStartedMessage
from handrail.schema.control import REQUESTS, read_answer
from handrail.schema.control_view import UnknownAnswer
from handrail.testing import Lab, text, tool_use
from tests.agent.stage import stage
from tests.contract.conftest import Talk
from tests.interop.scenario import of
from tests.shapes import answer_problems

LIBRARY = {
    "type": "stdio",
    "command": sys.executable,
    "args": [str(Path(__file__).parents[1] / "interop" / "library_server.py")],
}
OF_THE_AGENT = {
    subtype
    for subtype, view in REQUESTS.table.items()
    if view.__module__ == agent_requests.__name__ and subtype != "mcp_message"
}
"""Requests that only the agent sends."""

FIELDS: dict[str, dict[str, Any]] = {
    "apply_flag_settings": {"settings": {"model": "sonnet"}},
    "cancel_async_message": {"message_uuid": "8f7a52fe-2c6e-4acd-9d75-02bbb2c76339"},
    "file_suggestions": {"query": "notes"},
    "generate_session_title": {"description": "baking bread"},
    "mcp_call": {"tool": "mcp__library__publish", "arguments": {}},
    "mcp_read_resource": {"serverName": "library", "uri": "note://one"},
    "mcp_reconnect": {"serverName": "library"},
    "mcp_set_servers": {"servers": {}},
    "mcp_toggle": {"serverName": "library", "enabled": True},
    "read_file": {"path": "notes.txt"},
    "register_repo_root": {"directory": "other"},
    "rename_session": {"title": "Bread"},
    "seed_read_state": {"path": "notes.txt", "mtime": 1e15},
    "set_max_thinking_tokens": {"max_thinking_tokens": 2000},
    "set_model": {"model": "sonnet"},
    "set_permission_mode": {"mode": "acceptEdits"},
    "side_question": {"question": "what time is it?"},
    "stop_task": {"task_id": "b1"},
    "update_settings": {"source": "localSettings", "settings": {"outputStyle": "Explanatory"}},
}
"""The fields of requests that need some."""

REFUSED: dict[str, dict[str, Any]] = {
    "set_color": {"color": "red"},
    "set_has_subscribers": {"has_subscribers": True},
}
"""Requests that the agent always refuses."""

SIGN_IN = {"mcp_authenticate", "mcp_oauth_callback_url", "mcp_clear_auth"}
"""Requests that need a server with a sign-in. They are tested in test_mcp_sign_in.py."""

WITH_SETUP = {"get_task_output", "mcp_message", "rewind_files", *SIGN_IN}
"""Requests that need a task, a server of the host or a checkpoint. They are tested separately below."""

LAST = {"end_session", "mcp_set_servers"}
"""Requests after which others have nothing left to ask about: the session ends, and the servers are removed."""

ROWS = sorted(set(REQUESTS.table) - OF_THE_AGENT - set(REFUSED) - WITH_SETUP)


def problems_in(subtype: str, body: Any, view: Any) -> list[str]:
    """How an answer differs from its view."""
    if isinstance(view, UnknownAnswer):
        return [str(view.problem)]
    return [*map(str, answer_problems(subtype, body)), *(f"{name} has no field in the view" for name in view.extra)]


async def problems_of(session: Session, subtype: str, **fields: Any) -> list[str]:
    """Send a request; return how its answer differs from its view."""
    success = await session.request(subtype, fields)
    view = read_answer(subtype, success.body)
    return problems_in(subtype, success.body, view)


async def answered(session: Session, subtype: str, **fields: Any) -> Any:
    """Send a request, check the shape of its answer, and return the view."""
    success = await session.request(subtype, fields)
    view = read_answer(subtype, success.body)
    assert problems_in(subtype, success.body, view) == []
    return view


@pytest.mark.parametrize("of_mcp", [False, True], ids=["without MCP", "MCP"])
async def test_an_answer_has_all_fields_of_its_view_and_no_others(talk: Talk, lab: Lab, of_mcp: bool):
    """All rows are asked in one session, because starting one takes longer than all answers."""
    (lab.project / "notes.txt").write_text("remember the milk")
    (lab.project / "other").mkdir()
    settings = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]}}
    (lab.home / ".claude").mkdir(exist_ok=True)
    (lab.home / ".claude" / "settings.json").write_text(json.dumps(settings | {"permissions": {"deny": ["WebFetch"]}}))
    options: dict[str, Any] = {"setting_sources": ["user", "local"]}
    if of_mcp:
        options["mcp_servers"] = {"library": LIBRARY}
    rows = [subtype for subtype in ROWS if subtype.startswith("mcp_") == of_mcp]
    problems: dict[str, list[str]] = {}
    async with talk(*(text(f"answer {n}") for n in range(8)), **options) as session:
        await session.ask("hello")
        for subtype in sorted(rows, key=LAST.__contains__):
            problems[subtype] = await problems_of(session, subtype, **FIELDS.get(subtype, {}))
    assert problems == {subtype: [] for subtype in rows}


async def test_the_output_of_a_task_has_all_fields(talk: Talk):
    call = tool_use("Bash", command="echo done; exec tail -f /dev/null", run_in_background=True)
    options: dict[str, Any] = {"allowed_tools": ["Bash"]}
    async with talk(call, text("started"), **options) as session:
        messages = [message async for message in await session.send("go")]
        (task,) = of(TaskStartedMessage, messages)
        answer = await answered(session, "get_task_output", task_id=task.task_id)
        assert (answer.truncated, answer.total_bytes) == (False, len(answer.output))
        await session.stop_task(task.task_id)


async def test_a_message_of_a_host_server_is_acknowledged(talk: Talk):
    @tool
    async def add(a: int, b: int) -> str:
        """Add two numbers."""
        return str(a + b)

    async with talk(text("hi"), mcp_servers=[mcp_server("calc", [add])]) as session:
        await session.ask("hello")
        message = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        await answered(session, "mcp_message", server_name="calc", message=message)


async def test_an_answer_about_restored_files_has_all_fields(talk: Talk, lab: Lab):
    path = lab.project / "a.txt"
    call = tool_use("Write", file_path=str(path), content="new")
    options: dict[str, Any] = {"enable_file_checkpointing": True, "permission_mode": "acceptEdits"}
    async with talk(call, text("done"), **options) as session:
        turn = await session.send("write")
        await turn
        await answered(session, "rewind_files", user_message_id=turn.uuid, dry_run=True)
        await answered(session, "rewind_files", user_message_id=turn.uuid)
    assert not path.exists()


@pytest.mark.parametrize("subtype", sorted(REFUSED))
async def test_a_request_without_effect_is_refused_by_name(talk: Talk, subtype: str):
    async with talk(text("hi")) as session:
        with pytest.raises(ControlRefused, match=subtype) as refused:
            await session.request(subtype, REFUSED[subtype])
        assert refused.value.code == "unsupported_request"


async def test_every_request_that_the_agent_answers_has_a_row(tmp_path: Path):
    async with stage(tmp_path, Script.of(text("hi"))) as host:
        served = set(host.engine.handlers())
    signing_in = {subtype for subtype in served if subtype.startswith("mcp_") and ("auth" in subtype)}
    assert served - signing_in <= set(REQUESTS.table)
    assert set(REQUESTS.table) - OF_THE_AGENT - set(REFUSED) <= served
