"""An agent process under measurement: response times, CPU and memory. All agents are driven by the same lines."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

__all__ = ["AgentProcess", "agent"]

FLAGS = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
LONGEST_LINE = 16 * 1024 * 1024
PATIENCE = 120.0


class AgentProcess:
    """A running agent. Times are in seconds, of the wall clock unless noted."""

    def __init__(self, process: asyncio.subprocess.Process, begun: float) -> None:
        self._process, self._begun = process, begun
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout

    async def initialize(self) -> float:
        """Send `initialize`. Returns the seconds from the start of the process to the answer."""
        self._send({"type": "control_request", "request_id": "1", "request": {"subtype": "initialize"}})
        await self._until("control_response")
        return time.perf_counter() - self._begun

    async def turn(self, prompt: str = "Say it.") -> float:
        """Run one turn. Returns the seconds from the prompt to the first line."""
        begun = time.perf_counter()
        self._send({"type": "user", "message": {"role": "user", "content": prompt}})
        line = await self._line()
        first = time.perf_counter() - begun
        if line["type"] != "result":
            await self._until("result")
        return first

    async def end(self) -> float:
        """Close the input. Returns the seconds until the agent has exited."""
        begun = time.perf_counter()
        self._stdin.close()
        async with asyncio.timeout(PATIENCE):
            code = await self._process.wait()
        if code != 0:
            raise RuntimeError(f"the agent exited with code {code}")
        return time.perf_counter() - begun

    def cpu(self) -> float:
        """CPU seconds used so far by all threads."""
        return time.clock_gettime((~self._process.pid << 3) | 2)  # the CPU clock of another process on Linux

    def resident(self) -> int:
        """Resident memory of the agent and its children, in bytes."""
        return sum(_resident(pid) for pid in _family(self._process.pid))

    async def stop(self) -> None:
        """Kill the agent if it still runs."""
        if self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    def _send(self, line: Mapping[str, Any]) -> None:
        self._stdin.write(json.dumps(line).encode() + b"\n")

    async def _until(self, kind: str) -> Mapping[str, Any]:
        while (line := await self._line())["type"] != kind:
            pass
        return line

    async def _line(self) -> Mapping[str, Any]:
        async with asyncio.timeout(PATIENCE):
            line = await self._stdout.readline()
        if not line:
            raise RuntimeError("the agent exited before it answered")
        return json.loads(line)


@asynccontextmanager
async def agent(
    command: Path, environment: Mapping[str, str], folder: Path, arguments: Sequence[str] = ()
) -> AsyncGenerator[AgentProcess]:
    """Start an agent; it is killed at the end of the block."""
    begun = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        command,
        *FLAGS,
        *arguments,
        cwd=folder,
        env=dict(environment),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=LONGEST_LINE,
    )
    running = AgentProcess(process, begun)
    try:
        yield running
    finally:
        await running.stop()


def _family(pid: int) -> list[int]:
    """A process and its descendants."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(member for child in children for member in _family(int(child)))]


def _resident(pid: int) -> int:
    fields = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in fields if line.startswith("VmRSS:"))
