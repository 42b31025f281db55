"""Damaged JSON-RPC lines of an ACP agent: each is refused or ignored, and the session of the host goes on."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from handrail.testing.scripted_acp_agent import chunk, thought, tool_call, tool_update
from tests.acp.acp_agent import OPTIONS, Stage
from tests.fuzz.wire import KEY, VALUE, Mutator, Seed, _spans

LINES = 1500
CALL = {"toolCallId": "c1", "title": "`touch x`", "kind": "execute", "rawInput": {"command": "touch x"}}
DIFF = {"type": "diff", "path": "$CWD/a.txt", "oldText": "a", "newText": "b"}
UPDATES: list[dict[str, Any]] = [
    chunk("text")["update"],
    thought("thought")["update"],
    tool_call("c1", "Run", kind="execute", rawInput={"command": ["ls", "-l"]}, locations=[{"path": "/", "line": 3}])[
        "update"
    ],
    tool_update("c1", status="completed", content=[DIFF], rawOutput={"output": "x", "metadata": {"exit": 1}})["update"],
    {"sessionUpdate": "plan", "entries": [{"content": "walk", "priority": "high", "status": "pending"}]},
    {"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "web", "description": "Search"}]},
    {"sessionUpdate": "current_mode_update", "currentModeId": "plan"},
    {"sessionUpdate": "config_option_update", "configOptions": [{"id": "model", "options": [{"value": "a"}]}]},
    {"sessionUpdate": "session_info_update", "title": "A walk"},
    {"sessionUpdate": "notice", "severity": "warning", "title": "Slow", "description": "very"},
    {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "not ours"}},
    {"sessionUpdate": "agent_message_chunk", "content": {"type": "resource", "resource": {"uri": "a", "text": "b"}}},
    {"sessionUpdate": "compaction_update", "compactionId": "c", "status": "in_progress"},
    {"sessionUpdate": "usage_update", "used": 5, "size": 10, "cost": {"amount": 1, "currency": "USD"}},
]
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("session/request_permission", {"toolCall": CALL, "options": OPTIONS}),
    ("fs/read_text_file", {"path": "$CWD/../outside.txt", "line": 1, "limit": 2}),
    ("fs/write_text_file", {"path": "$CWD/../outside.txt", "content": "changed"}),
    (
        "elicitation/create",
        {"mode": "form", "message": "?", "requestedSchema": {"properties": {"a": {"type": "string"}}}},
    ),
    ("terminal/create", {"command": "touch", "args": ["x"]}),
]


class AgentLines:
    """The lines that are damaged."""

    def __init__(self) -> None:
        calls = [("session/update", {"update": update}) for update in UPDATES]
        messages: list[dict[str, Any]] = [
            {"jsonrpc": "2.0", "method": method, "params": {"sessionId": "$SESSION", **params}}
            for method, params in (*calls, *REQUESTS)
        ]
        for at, message in enumerate(messages[len(calls) :]):
            message["id"] = at
        messages += [{"jsonrpc": "2.0", "id": 99, "result": {}}, {"jsonrpc": "2.0", "id": 99, "error": {"code": 1}}]
        lines = [json.dumps(message).encode() for message in messages]
        self.seeds = [Seed(line, _spans(KEY, line), _spans(VALUE, line)) for line in lines]
        self.keys = sorted({line[start:end] for line, keys, _ in self.seeds for start, end in keys})


@pytest.mark.parametrize("seed", range(2))
async def test_damaged_lines_of_an_agent_are_refused_and_the_session_lives(tmp_path: Path, seed: int):
    stage = Stage(tmp_path)
    (tmp_path / "outside.txt").write_text("outside")
    mutator = Mutator(AgentLines(), Random(seed))  # type: ignore[arg-type]
    damaged = [{"raw": mutator.line().replace(b"\n", b" ").decode("latin-1")} for _ in range(LINES)]
    answers = {
        "can_use_tool": lambda _: {"behavior": "deny", "message": "no"},
        "elicitation": lambda _: {"action": "decline"},
    }
    async with stage.host([*damaged, chunk("Fine.")], answers=answers) as host:
        await host.turn("go")
        assert (await host.turn("again"))[-1]["result"].endswith("again")
        assert await host.end() == 0
    assert "Traceback" not in host.stderr
    assert (tmp_path / "outside.txt").read_text() == "outside"
    assert sorted(path.name for path in stage.project.iterdir()) in ([], ["a.txt"])
