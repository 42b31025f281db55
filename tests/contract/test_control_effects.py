"""Control requests do what they acknowledge."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from handrail import ControlRefused
from handrail.schema.activity_messages import TaskNotificationMessage, TaskStartedMessage, TaskUpdatedMessage
from handrail.testing import Lab, When, reply, text, tool_use
from tests.contract.conftest import Talk
from tests.interop.scenario import of

FREE: dict[str, Any] = {"can_use_tool": lambda _: True}


async def until_notified(messages: Any) -> AsyncIterator[Any]:
    """All messages up to the end of a task."""
    async for message in messages:
        yield message
        if isinstance(message, TaskNotificationMessage):
            return


def text_of(path: str) -> str:
    return Path(path).read_text()


def milliseconds(path: Any) -> int:
    return os.stat(path).st_mtime_ns // 1_000_000


WRITES: Any = {"permission_mode": "acceptEdits", "model": "claude-haiku-4-5"}
"""Older models must read a file before they replace it."""


async def test_a_seeded_file_can_be_overwritten_without_a_read(talk: Talk, lab: Lab):
    path = lab.project / "a.txt"
    path.write_text("old")
    call = tool_use("Write", file_path=str(path), content="new")
    async with talk(call, text("refused"), call, text("done"), **WRITES) as session:
        await session.ask("write")
        assert path.read_text() == "old"
        await session.seed_read_state("a.txt", milliseconds(path))
        await session.ask("write")
    assert path.read_text() == "new"


async def test_a_file_that_changed_after_its_seeded_read_is_not_overwritten(talk: Talk, lab: Lab):
    path = lab.project / "a.txt"
    path.write_text("old")
    call = tool_use("Write", file_path=str(path), content="new")
    async with talk(call, text("done"), permission_mode="acceptEdits") as session:
        await session.seed_read_state(str(path), milliseconds(path) - 60_000)
        await session.ask("write")
    assert path.read_text() == "old"


@pytest.mark.parametrize(
    "fields", [{}, {"path": "a.txt"}, {"path": "nowhere.txt", "mtime": 1e15}, {"path": 3, "mtime": 1}]
)
async def test_read_that_cannot_be_seeded_permits_no_write(talk: Talk, lab: Lab, fields: dict[str, Any]):
    path = lab.project / "a.txt"
    path.write_text("old")
    call = tool_use("Write", file_path=str(path), content="new")
    async with talk(call, text("refused"), **WRITES) as session:
        await session.control("seed_read_state", **fields)
        await session.ask("write")
    assert path.read_text() == "old"


async def test_a_running_command_is_moved_to_the_background(talk: Talk, lab: Lab):
    go = lab.project / "go"
    os.mkfifo(go)
    call = tool_use("Bash", command="echo started; cat go; echo finished")
    moved = reply(text("It runs on."), when=When(tool_result="background"))
    async with talk(call, moved, text("It is done."), **FREE) as session:
        reader = session.messages()
        turn = await session.send("go")
        while not (await session.background_tasks()).backgrounded:  # the command may not have started yet
            pass
        assert (await turn).text == "It runs on."
        await asyncio.to_thread(go.write_text, "now\n")
        *_, ended = [message async for message in until_notified(reader)]
        assert ended.status == "completed"
        assert text_of(ended.output_file) == "started\nnow\nfinished\n\n[exited with code 0]\n"


async def test_only_the_named_call_is_moved(talk: Talk):
    async with talk(text("hi")) as session:
        assert not (await session.background_tasks("toolu_nowhere")).backgrounded


async def test_the_output_of_an_unknown_task_is_refused(talk: Talk):
    async with talk(text("hi")) as session:
        with pytest.raises(ControlRefused, match="get_task_output.*nowhere"):
            await session.get_task_output("nowhere")


async def test_a_registered_folder_is_a_working_folder(talk: Talk, lab: Lab):
    other = lab.project / "other"
    other.mkdir()
    async with talk(text("hi")) as session:
        answer = await session.control("register_repo_root", directory="other")
        assert answer == {"directory": str(other)}
        await session.ask("hello")
        assert session.info is not None
        assert session.info.additional_directories == [str(other)]
        for refused in ("other", "nowhere", ".", str(lab.root), 3):
            with pytest.raises(ControlRefused, match="register_repo_root"):
                await session.control("register_repo_root", directory=refused)


async def test_read_file_cuts_and_encodes(talk: Talk, lab: Lab):
    (lab.project / "a.bin").write_bytes(b"\xff\x00abc")
    async with talk(text("hi")) as session:
        cut = await session.read_file("a.bin", max_bytes=2)
        assert (cut.truncated, cut.lossy) == (True, True)
        whole = await session.control("read_file", path="a.bin", encoding="base64")
        assert base64.b64decode(whole["contents"]) == b"\xff\x00abc"
        with pytest.raises(ControlRefused, match="encoding"):
            await session.control("read_file", path="a.bin", encoding="utf-7")


async def test_read_file_follows_the_deny_rules_of_read(talk: Talk, lab: Lab):
    (lab.project / "secret.txt").write_text("x")
    async with talk(text("hi"), disallowed_tools=["Read(./secret.txt)"]) as session:
        with pytest.raises(ControlRefused, match="read_file.*rule"):
            await session.read_file("secret.txt")


async def test_a_running_subagent_is_moved_to_the_background(talk: Talk, lab: Lab):
    go = lab.project / "go"
    os.mkfifo(go)
    started = {"description": "looks", "prompt": "look it up", "subagent_type": "general-purpose"}
    replies = [
        tool_use("Task", **started, run_in_background=False),
        reply(tool_use("Bash", command="cat go"), when=When(prompt="look it up")),
        reply(text("It runs on."), when=When(tool_result="launched")),
        reply(text("It is blue."), when=When(tool_result="now")),
        text("It is done."),
    ]
    async with talk(*replies, **FREE) as session:
        reader = session.messages()
        turn = await session.send("go")
        while not (await session.background_tasks()).backgrounded:  # the subagent may not have started yet
            pass
        assert (await turn).text == "It runs on."
        await asyncio.to_thread(go.write_text, "now\n")
        seen = [message async for message in until_notified(reader)]
    assert [message.is_backgrounded for message in of(TaskStartedMessage, seen)] == [False]
    patches = [message.patch for message in of(TaskUpdatedMessage, seen)]
    assert [patch.is_backgrounded for patch in patches if patch is not None] == [True, None]
    assert "It is blue." in seen[-1].summary


async def test_another_session_cannot_be_renamed(talk: Talk):
    async with talk(text("hi")) as session:
        with pytest.raises(ControlRefused, match="rename_session"):
            await session.control("rename_session", title="x", session_id="8f7a52fe-2c6e-4acd-9d75-02bbb2c76339")
