"""Faults around the agent: it is killed, the disk is full, folders are not writable, a session is used twice."""

from __future__ import annotations

import json
import os
import resource
import signal
from pathlib import Path

import pytest

from handrail.agent.models.script import Script, text, tool_use
from tests.agent.processes import FOREVER, Bell, agent, ended, entries, sessions

ONE = Script.of(text("one"))


def spoken(path: Path) -> list[str]:
    """The prompts and answers in a transcript."""
    found: list[str] = []
    for entry in entries(path):
        content = entry.get("message", {}).get("content", [])
        found += [content] if isinstance(content, str) else [x["text"] for x in content if x["type"] == "text"]
    return found


@pytest.mark.parametrize(
    "command",
    [
        "{bell} $$; " + FOREVER,
        "setsid " + FOREVER + " & {bell} $!; wait",
        "(trap '' TERM HUP INT; {bell} $BASHPID; " + FOREVER + ") & wait",
    ],
)
async def test_kill_during_a_command_leaves_no_process_and_loses_nothing(tmp_path: Path, command: str):
    async with Bell(tmp_path) as bell:
        script = Script.of(text("before"), tool_use("Bash", command=command.format(bell=bell.path)))
        async with agent(tmp_path, script) as running:
            id = (await running.turn("first"))["session_id"]
            await running.say("second")
            child = int(await bell.line())
            running.process.kill()
            assert await running.exit_code() == -signal.SIGKILL
            await ended(child)
    async with agent(tmp_path, Script.of(text("after")), "--resume", id) as again:
        result = await again.turn("third")
        assert (result["result"], result["session_id"]) == ("after", id)
        assert await again.end() == 0
    assert spoken(sessions(tmp_path)[0]) == ["first", "before", "second", "third", "after"]


async def test_background_command_is_killed_with_the_agent(tmp_path: Path):
    async with Bell(tmp_path) as bell:
        call = tool_use("Bash", command=f"{bell.path} $$; {FOREVER}", run_in_background=True)
        async with agent(tmp_path, Script.of(call, text("started"))) as running:
            await running.turn("go")
            child = int(await bell.line())
            running.process.kill()
            await running.process.wait()
            await ended(child)


async def test_torn_last_line_loses_only_that_line(tmp_path: Path):
    async with agent(tmp_path, ONE) as running:
        id = (await running.turn("first"))["session_id"]
        await running.end()
    path = sessions(tmp_path)[0]
    with path.open("ab") as file:
        file.write(b'{"type":"assistant","uuid":"torn","message":{"content":[{"ty')
    async with agent(tmp_path, Script.of(text("two")), "--resume", id) as again:
        assert (await again.turn("second"))["result"] == "two"
        await again.end()
    assert spoken(path) == ["first", "one", "second", "two"]
    torn = [line for line in path.read_bytes().split(b"\n") if b'"torn"' in line]
    assert torn == [b'{"type":"assistant","uuid":"torn","message":{"content":[{"ty']


async def test_full_disk_is_reported_once_and_the_session_continues(tmp_path: Path):
    async with agent(tmp_path, ONE) as running:
        id = (await running.turn("first"))["session_id"]
        await running.end()
    path = sessions(tmp_path)[0]
    before = path.read_bytes()
    room = len(before) + 700  # the next prompt fits, the answer does not

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    script = Script.of(text("two " * 100), text("three"))
    async with agent(tmp_path, script, "--resume", id, before=full) as again:
        assert (await again.turn("second"))["subtype"] == "success"
        assert (await again.turn("third"))["result"] == "three"
        warnings = [line for line in again.lines if line.get("subtype") == "informational"]
        assert await again.end() == 0
        errors = await again.stderr()
    assert errors.count("cannot be saved") == 1
    assert str(path) in errors
    assert len(warnings) == 1
    assert path.read_bytes().startswith(before)
    async with agent(tmp_path, Script.of(text("four")), "--resume", id) as last:
        assert (await last.turn("fourth"))["result"] == "four"
        await last.end()
    assert spoken(path) == ["first", "one", "second", "fourth", "four"]


async def test_backlog_is_written_once_there_is_disk_space(tmp_path: Path):
    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1500, resource.RLIM_INFINITY))

    async with agent(tmp_path, Script.of(text("one " * 300), text("two")), before=small) as running:
        await running.turn("first")
        infinity = resource.RLIM_INFINITY
        resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (infinity, infinity))
        await running.turn("second")
        await running.end()
    assert spoken(sessions(tmp_path)[0]) == ["first", "one " * 300, "second", "two"]


async def test_unwritable_folder_is_reported_and_the_session_continues(tmp_path: Path):
    (tmp_path / "closed").write_text("a file where a folder should be")
    call = tool_use("Bash", command="echo out", run_in_background=True)
    script = Script.of(text("one"), call, text("two"), text("three"))
    async with agent(tmp_path, script, environment={"CLAUDE_CONFIG_DIR": str(tmp_path / "closed")}) as running:
        assert (await running.turn("first"))["result"] == "one"
        assert (await running.turn("second"))["result"] == "two"
        assert await running.end() == 0
        errors = await running.stderr()
    assert "Traceback" not in errors
    assert errors.count("cannot be saved") == 1
    assert str(tmp_path / "closed") in errors


async def test_two_processes_on_one_session_write_whole_lines(tmp_path: Path):
    async with agent(tmp_path, Script.of(text("one"), text("a2"), text("a3"))) as first:
        id = (await first.turn("first"))["session_id"]
        async with agent(tmp_path, Script.of(text("b2"), text("b3")), "--resume", id) as second:
            for number in (2, 3):
                assert (await first.turn(f"a-{number}"))["result"] == f"a{number}"
                assert (await second.turn(f"b-{number}"))["result"] == f"b{number}"
            await second.end()
            assert "in use by another process" in await second.stderr()
        await first.end()
        assert await first.stderr() == ""
    path = sessions(tmp_path)[0]
    for line in path.read_bytes().splitlines():
        json.loads(line)
    assert {"a-2", "a2", "a-3", "a3", "b-2", "b2", "b-3", "b3"} <= set(spoken(path))
    async with agent(tmp_path, Script.of(text("last")), "--resume", id) as again:
        assert (await again.turn("again"))["result"] == "last"
        await again.end()
        assert await again.stderr() == ""


async def test_symlink_in_place_of_the_transcript_is_not_followed(tmp_path: Path):
    async with agent(tmp_path, ONE) as running:
        await running.turn("first")
        await running.end()
    id = "11111111-2222-4333-8444-555555555555"
    outside = tmp_path / "outside.txt"
    os.symlink(outside, sessions(tmp_path)[0].with_name(f"{id}.jsonl"))
    async with agent(tmp_path, ONE, "--continue", "--fork-session", "--session-id", id) as again:
        assert (await again.turn("second"))["result"] == "one"
        await again.end()
        assert "cannot be saved" in await again.stderr()
    assert not outside.exists()
