"""An agent that is started before its session is known."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from handrail.transport.start_message import AWAIT_START, Start
from tests.agent.processes import LIMIT, STREAMING, AgentProcess, killed_at_the_end

ID = "5b1e0c7e-6f0e-4f0e-9b52-0d3d2c6a7e11"


@asynccontextmanager
async def waiting_agent(folder: Path) -> AsyncGenerator[AgentProcess]:
    """An agent that waits, with its home in `folder/home`; killed at the end if it still runs."""
    (folder / "home" / ".claude").mkdir(parents=True)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "handrail.agent.main", AWAIT_START),
        cwd="/",
        env={"HOME": str(folder / "home"), "PATH": os.environ["PATH"]},
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
    )
    async with killed_at_the_end(process):
        yield AgentProcess(process)


def add_hook(folder: Path, event: str) -> None:
    settings = {"hooks": {event: [{"hooks": [{"type": "command", "command": f"echo {event} >> ~/hooks"}]}]}}
    (folder / "home" / ".claude" / "settings.json").write_text(json.dumps(settings))


def hooks_run(folder: Path) -> list[str]:
    log = folder / "home" / "hooks"
    return log.read_text().split() if log.exists() else []


async def test_session_begins_in_the_folder_and_with_the_arguments_of_the_start_message(tmp_path: Path):
    folder = tmp_path / "my wörk"
    folder.mkdir()
    async with waiting_agent(tmp_path) as agent:
        start = Start(str(folder), [*STREAMING, f"--session-id={ID}", "--permission-mode=plan"])
        agent.stdin.write(start.encode())
        await agent.say("hello")
        await agent.result()
        [init] = [line for line in agent.lines if line.get("subtype") == "init"]
        assert (init["cwd"], init["session_id"], init["permissionMode"]) == (str(folder), ID, "plan")
        assert await agent.end() == 0


async def test_settings_count_as_they_are_when_the_session_begins(tmp_path: Path):
    async with waiting_agent(tmp_path) as agent:
        add_hook(tmp_path, "SessionStart")
        agent.stdin.write(Start(str(tmp_path), STREAMING).encode())
        await agent.say("hello")
        await agent.result()
        assert await agent.end() == 0
    assert hooks_run(tmp_path) == ["SessionStart"]


async def test_nothing_happens_without_a_session(tmp_path: Path):
    """The home stays empty, no hook runs, nothing is written."""
    async with waiting_agent(tmp_path) as agent:
        add_hook(tmp_path, "SessionStart")
        add_hook(tmp_path, "SessionEnd")
        before = sorted((tmp_path / "home").rglob("*"))
        assert await agent.end() == 0
        assert (agent.lines, await agent.stderr()) == ([], "")
    assert sorted((tmp_path / "home").rglob("*")) == before


async def test_missing_folder_is_reported(tmp_path: Path):
    async with waiting_agent(tmp_path) as agent:
        agent.stdin.write(Start(str(tmp_path / "none"), STREAMING).encode())
        assert await agent.exit_code() == 1
        assert await agent.stderr() == f"Error: cannot enter the folder {tmp_path}/none: No such file or directory\n"


async def test_invalid_arguments_are_reported_as_at_any_start(tmp_path: Path):
    async with waiting_agent(tmp_path) as agent:
        agent.stdin.write(Start(str(tmp_path), [*STREAMING, "--no-such-flag"]).encode())
        assert await agent.exit_code() == 1
        assert "--no-such-flag" in await agent.stderr()


async def test_flag_is_refused_beside_others(tmp_path: Path):
    command = [sys.executable, "-m", "handrail.agent.main", "-p", AWAIT_START, "hello"]
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE, cwd=tmp_path)
    async with asyncio.timeout(LIMIT):
        _, errors = await process.communicate()
    assert (process.returncode, AWAIT_START in errors.decode()) == (1, True)
