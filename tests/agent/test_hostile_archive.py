"""A hostile archive, opened by every program of Handrail: nothing in it runs."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.script import Script, text, tool_use
from tests.agent.hostile_archive import HostileArchive
from tests.bridge.serving import running

PROGRAMS = Path(sys.executable).parent
LOOKS = (
    "git status",
    "git log",
    "git diff",
    "git branch",
    "ls",
    "pwd",
    "cat README",
    "rg x",
    "git -C vendor/lib status",
)
PLACES = ("vendor/lib", "docs/kit", "sub", ".git")
SCRIPT = Script.of(
    *(tool_use("Bash", command=command) for command in LOOKS),
    *(tool_use("Bash", command=f"cd {place} && git status && git diff") for place in PLACES),
    tool_use("Read", file_path="package.json"),
    tool_use("Grep", pattern="run", output_mode="content"),
    tool_use("Glob", pattern="**/*.py"),
    tool_use("Skill", skill="go"),
    tool_use("Task", subagent_type="go", description="x", prompt="x"),
    text("ok"),
)


@pytest.fixture
def archive(tmp_path: Path) -> HostileArchive:
    found = HostileArchive(tmp_path / "work", tmp_path / "canaries")
    found.build()
    assert found.found() == []
    return found


def environment(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    return {"HOME": str(home), "PATH": path, "HANDRAIL_SCRIPT": SCRIPT.to_json().decode()}


def test_the_archive_works_where_it_is_opened_carelessly(archive: HostileArchive, tmp_path: Path):
    """The canaries must be able to sing, or the other tests show nothing."""
    assert len(archive.ways) >= 60
    subprocess.run(["git", "status"], cwd=archive.folder, env=environment(tmp_path), capture_output=True, check=False)
    assert "git-top-core.fsmonitor" in archive.found()


@pytest.mark.parametrize("prompt", ["look around", "/go", "@CLAUDE.md"])
async def test_the_agent_runs_nothing_of_it(archive: HostileArchive, tmp_path: Path, prompt: str):
    process = await asyncio.create_subprocess_exec(
        *(PROGRAMS / "handrail-agent", "-p", "--output-format", "stream-json", "--verbose", prompt),
        cwd=archive.folder,
        env=environment(tmp_path),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(120):
        output, errors = await process.communicate()
    assert b'"type":"result"' in output.replace(b" ", b""), errors
    assert archive.found() == []


async def test_handrail_run_runs_nothing_of_it(archive: HostileArchive, tmp_path: Path):
    process = await asyncio.create_subprocess_exec(
        *(PROGRAMS / "handrail", "run", "--cli", PROGRAMS / "handrail-agent", "look around"),
        cwd=archive.folder,
        env=environment(tmp_path),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(120):
        _, errors = await process.communicate()
    assert process.returncode is not None
    assert b"Traceback" not in errors
    assert archive.found() == []


async def test_the_server_runs_nothing_of_it(archive: HostileArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    async with running(tmp_path) as server, server.socket(await server.token()) as socket, asyncio.timeout(120):

        async def say(**fields: object) -> None:
            await socket.send(json.dumps(fields))

        async def hear(kind: str) -> dict[str, Any]:
            while (message := json.loads(await socket.recv()))["type"] != kind:
                pass
            return message

        await say(type="hello", protocol=1)
        start = {"cwd": str(archive.folder), "mode": "dontAsk"}
        await say(type="command", id="1", command="start", fields=start)
        id = (await hear("receipt"))["result"]["session"]["id"]
        await say(type="subscribe", session=id)
        await say(type="command", id="2", command="send", fields={"session": id, "text": "look around"})
        for number, command in enumerate(("about", "file_suggestions", "context_usage"), 3):
            await say(type="command", id=str(number), command=command, fields={"session": id})
        kinds: list[str] = []
        while "result" not in kinds:
            message = await hear("events")
            kinds += [event["data"].get("type") for event in message["events"] if event["kind"] == "frame"]
        async with server.client(await server.same_token()) as client:
            for path in (".", "docs/kit", "package.json"):
                await client.get(f"/api/sessions/{id}/files", params={"path": path})
    assert archive.found() == []
