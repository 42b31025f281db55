"""A real agent process for tests, and helpers to wait for processes and commands."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from handrail.agent.models.script import Script

JsonObject = dict[str, Any]
STREAMING = ("-p", "--output-format", "stream-json", "--verbose", "--input-format", "stream-json")
FREE = "--dangerously-skip-permissions"
LIMIT = 60
FOREVER = "tail -f /dev/null"


class AgentProcess:
    """A running agent. `lines` contains the output lines read so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        self.process, self.stdin, self.stdout = process, process.stdin, process.stdout
        self.lines: list[JsonObject] = []
        self._errors = asyncio.create_task(process.stderr.read())

    async def say(self, text: str, **fields: Any) -> None:
        await self.write({"type": "user", "message": {"role": "user", "content": text}, **fields})

    async def write(self, line: JsonObject) -> None:
        self.stdin.write(json.dumps(line).encode() + b"\n")
        await self.stdin.drain()

    async def until(self, wanted: Callable[[JsonObject], bool]) -> JsonObject:
        """Read lines until one matches, and return it."""
        async with asyncio.timeout(LIMIT):
            while line := await self.stdout.readline():
                self.lines.append(json.loads(line))
                if wanted(self.lines[-1]):
                    return self.lines[-1]
        raise AssertionError(f"the agent exited: {await self._errors!r}")

    async def result(self) -> JsonObject:
        return await self.until(lambda line: line["type"] == "result")

    async def turn(self, text: str, **fields: Any) -> JsonObject:
        await self.say(text, **fields)
        return await self.result()

    async def end(self) -> int:
        """Close stdin and wait for the exit code."""
        self.stdin.close()
        return await self.exit_code()

    async def exit_code(self) -> int:
        async with asyncio.timeout(LIMIT):
            while line := await self.stdout.readline():
                self.lines.append(json.loads(line))
            return await self.process.wait()

    async def stderr(self) -> str:
        async with asyncio.timeout(LIMIT):
            return (await asyncio.shield(self._errors)).decode()


@asynccontextmanager
async def killed_at_the_end(process: asyncio.subprocess.Process) -> AsyncGenerator[None]:
    """Kill the process at the end if it still runs."""
    try:
        yield
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def agent(
    folder: Path,
    script: Script,
    *flags: str,
    environment: dict[str, str] | None = None,
    before: Callable[[], None] | None = None,
    project: str = "project",
    limit: int = 64 * 1024 * 1024,
) -> AsyncGenerator[AgentProcess]:
    """An agent in `folder/project`, with its home in `folder/home`; killed at the end if it still runs."""
    for name in (project, "home"):
        (folder / name).mkdir(exist_ok=True)
    variables = {
        "HOME": str(folder / "home"),
        "PATH": os.environ["PATH"],
        "HANDRAIL_SCRIPT": script.to_json().decode(),
        **(environment or {}),
    }
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "handrail.agent.main", *STREAMING, FREE, *flags),
        cwd=folder / project,
        env={**variables, "IS_SANDBOX": "1"},
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        limit=limit,
        preexec_fn=before,
    )
    async with killed_at_the_end(process):
        yield AgentProcess(process)


class Bell:
    """Lets a command notify a test: the command runs `path` with a word, and the test awaits `line()`."""

    def __init__(self, folder: Path) -> None:
        self.path, self._pipe = folder / "ring", folder / "bell"
        os.mkfifo(self._pipe)
        self.path.write_text(f'#!/bin/sh\necho "$1" > {self._pipe}\n')
        self.path.chmod(0o700)
        self._reader = asyncio.StreamReader()

    async def __aenter__(self) -> Bell:
        file = os.fdopen(os.open(self._pipe, os.O_RDWR | os.O_NONBLOCK), "rb", buffering=0)
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(self._reader), file)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._transport.close()

    async def line(self) -> str:
        async with asyncio.timeout(LIMIT):
            return (await self._reader.readline()).decode().strip()


async def ended(pid: int) -> None:
    """Wait until any process, not only a child, has exited."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    exited = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(handle, exited.set)
    try:
        async with asyncio.timeout(LIMIT):
            await exited.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)


def sessions(folder: Path) -> list[Path]:
    """The transcripts in the home folder."""
    return sorted((folder / "home").glob(".claude/projects/*/*.jsonl"))


def entries(path: Path) -> list[JsonObject]:
    """The valid lines of a transcript."""
    found: list[JsonObject] = []
    for line in path.read_bytes().split(b"\n"):
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found
