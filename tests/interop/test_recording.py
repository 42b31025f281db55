"""Recording a session and replaying it without the CLI."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from handrail import Allow, HookOutput, Options, PermissionRequest, Session, StartFailed, mcp_server
from handrail.testing import Lab, text, thinking, tool_use
from handrail.transport.replay_transport import ReplayTransport
from tests.interop.scenario import LIMIT, Model, SessionOptions, Talk, bash

UUIDS = ("00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002")
"""The uuids of the prompts. The rest of a recording is replayed unchanged."""


async def converse(options: Options, transport: ReplayTransport | None = None) -> tuple[list[bytes], list[str], Any]:
    """Run two turns and a control request. Returns the messages, the results and the version."""
    async with asyncio.timeout(LIMIT), Session(options, transport=transport) as session:
        reader = session.messages()
        answers = [(await (await session.send("go", uuid=uuid))).text for uuid in UUIDS]
        version = await session.get_binary_version()
    return [message.raw async for message in reader], answers, version


async def test_replayed_session_gives_the_same_messages(
    model: Model, session_options: SessionOptions, lab: Lab, tmp_path: Path
):
    asked: list[str] = []

    def decide(request: PermissionRequest) -> Allow:
        asked.append(request.input.get("command", request.tool_name))
        return Allow()

    async def note(event: Any) -> HookOutput:
        return HookOutput(additional_context="noted")

    def add(a: int, b: int) -> int:
        return a + b

    first, second = [thinking("Hm."), bash("touch made.txt")], tool_use("mcp__calc__add", a=1, b=2)
    options = session_options(
        model(first, text("one"), second, text("two")),
        record=tmp_path / "session.jsonl",
        can_use_tool=decide,
        hooks={"UserPromptSubmit": [note]},
        mcp_servers=[mcp_server("calc", [add])],
        include_partial_messages=True,
    )
    recorded = await converse(options)
    (lab.project / "made.txt").unlink()
    played = await converse(options.replace(record=None), ReplayTransport(tmp_path / "session.jsonl"))
    assert recorded[1] == ["one", "two"]
    assert played[1:] == recorded[1:]
    assert played[0] == recorded[0]
    assert asked == ["touch made.txt", "mcp__calc__add"] * 2
    assert not (lab.project / "made.txt").exists()


async def test_recording_contains_no_key(model: Model, session_options: SessionOptions, tmp_path: Path, lab: Lab):
    path = tmp_path / "session.jsonl"
    api = model(bash("echo $ANTHROPIC_API_KEY"), text("done"))
    options = session_options(api, record=path, can_use_tool=lambda request: True)
    async with asyncio.timeout(LIMIT), Session(options) as session:
        await session.ask("go")
    written = path.read_text()
    assert "sk-test-not-a-key" not in written
    assert written.count("***") > 0
    assert path.stat().st_mode & 0o077 == 0


async def test_recording_does_not_overwrite_a_file(model: Model, talk: Talk, tmp_path: Path):
    path = tmp_path / "precious.txt"
    path.write_text("do not touch")
    with pytest.raises(StartFailed, match="precious.txt exists"):
        async with talk(model(), record=path):
            pass
    assert path.read_text() == "do not touch"
