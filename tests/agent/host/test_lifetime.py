"""How a session ends: by the end of its input, by signals, and with a host that reads nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.script import Script, text, tool_use
from tests.agent.processes import FOREVER, LIMIT, Bell, agent, ended

ASKING = ("--permission-prompt-tool", "stdio")
ENDS = [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 0)]


@pytest.mark.parametrize(("number", "code"), ENDS)
async def test_a_signal_while_nothing_runs_ends_the_process(tmp_path: Path, number: signal.Signals, code: int):
    async with agent(tmp_path, Script.of(text("one"))) as running:
        await running.turn("go")
        running.process.send_signal(number)
        assert await running.exit_code() == code


@pytest.mark.parametrize(("number", "code"), ENDS)
async def test_a_signal_in_the_middle_of_a_command_ends_all_it_started(
    tmp_path: Path, number: signal.Signals, code: int
):
    async with Bell(tmp_path) as bell:
        command = f"setsid {FOREVER} & {bell.path} $!; {FOREVER}"
        async with agent(tmp_path, Script.of(tool_use("Bash", command=command))) as running:
            await running.say("go")
            child = int(await bell.line())
            running.process.send_signal(number)
            assert await running.exit_code() == code
            await ended(child)
    results = [line for line in running.lines if line["type"] == "result"]
    assert len(results) == (1 if number == signal.SIGINT else 0)


@pytest.mark.parametrize(("number", "code"), ENDS[:2])
@pytest.mark.parametrize(
    ("subtype", "hooks"), [("can_use_tool", {}), ("hook_callback", {"PreToolUse": [{"hookCallbackIds": ["a"]}]})]
)
async def test_nothing_is_written_after_a_signal_while_the_host_is_asked(
    tmp_path: Path, number: signal.Signals, code: int, subtype: str, hooks: dict[str, Any]
):
    options = [{"label": "Red", "description": ""}, {"label": "Blue", "description": ""}]
    question = {"question": "Which?", "header": "Colour", "multiSelect": False, "options": options}
    script = Script.of(tool_use("AskUserQuestion", questions=[question]))
    async with agent(tmp_path, script, *ASKING) as running:
        await running.write(
            {"type": "control_request", "request_id": "1", "request": {"subtype": "initialize", "hooks": hooks}}
        )
        await running.say("go")
        await running.until(lambda line: line.get("request", {}).get("subtype") == subtype)
        asked = len(running.lines)
        running.process.send_signal(number)
        assert await running.exit_code() == code
        assert running.lines[asked:] == []


async def test_leftover_processes_of_a_command_end_with_the_agent(tmp_path: Path):
    async with Bell(tmp_path) as bell:
        command = f"setsid nohup {FOREVER} > /dev/null 2>&1 & {bell.path} $!"
        async with agent(tmp_path, Script.of(tool_use("Bash", command=command), text("done"))) as running:
            await running.turn("go")
            child = int(await bell.line())
            assert await running.end() == 0
            await ended(child)


async def test_the_end_of_the_input_waits_for_work_in_the_background_and_its_turn(tmp_path: Path):
    async with Bell(tmp_path) as bell:
        go_on = tmp_path / "go_on"
        os.mkfifo(go_on)
        waiting = tmp_path / "wait"
        waiting.write_text(f"#!/bin/sh\n{bell.path} here\nread word < {go_on}\necho $word\n")
        waiting.chmod(0o700)
        call = tool_use("Bash", command=str(waiting), run_in_background=True)
        async with agent(tmp_path, Script.of(call, text("started"), text("heard"))) as running:
            await running.turn("go")
            assert await bell.line() == "here"
            running.stdin.close()
            descriptor = os.open(go_on, os.O_RDWR)
            os.write(descriptor, b"word\n")
            assert await running.exit_code() == 0
            os.close(descriptor)
    assert [line["result"] for line in running.lines if line["type"] == "result"] == ["started", "heard"]


async def test_exit_code_depends_on_the_last_turn(tmp_path: Path):
    for flags, code in ((("--max-turns", "1"), 1), ((), 0)):
        script = Script.of(tool_use("Bash", command="true"), text("done"))
        async with agent(tmp_path, script, *flags) as running:
            await running.turn("go")
            assert await running.end() == code


async def test_process_exits_even_if_the_host_reads_nothing(tmp_path: Path):
    async with Bell(tmp_path) as bell:
        behind = tool_use("Bash", command=f"{bell.path} $$; {FOREVER}", run_in_background=True)
        script = Script.of(behind, text("started"), text("word " * 20_000))
        async with agent(tmp_path, script, "--include-partial-messages", limit=64 * 1024) as running:
            await running.turn("first")
            child = int(await bell.line())
            await running.say("second")
            await running.until(lambda line: line.get("event", {}).get("type") == "content_block_delta")
            running.process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(LIMIT):
                await ended(running.process.pid)
            await ended(child)
            assert await running.exit_code() == 143


@pytest.mark.parametrize(("number", "code"), ENDS[:2])
async def test_one_shot_ends_by_a_signal_with_all_it_started(tmp_path: Path, number: signal.Signals, code: int):
    async with Bell(tmp_path) as bell:
        script = Script.of(tool_use("Bash", command=f"{bell.path} $$; {FOREVER}"))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "handrail.agent.main", "-p", "go", "--dangerously-skip-permissions"),
            cwd=tmp_path,
            env={
                "HOME": str(tmp_path),
                "PATH": os.environ["PATH"],
                "IS_SANDBOX": "1",
                "HANDRAIL_SCRIPT": script.to_json().decode(),
            },
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
        )
        child = int(await bell.line())
        process.send_signal(number)
        async with asyncio.timeout(LIMIT):
            assert await process.wait() == code
        await ended(child)
