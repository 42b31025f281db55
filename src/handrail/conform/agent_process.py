"""A running agent under test: sends it lines, answers its requests and collects its output."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, cast

import msgspec

from handrail.conform.check import Drift, Json
from handrail.conform.lines import kind, kinds

__all__ = ["AgentProcess", "Answers"]

Answers = Mapping[str, Callable[[Json], Json | None]]
"""Functions that answer the agent's requests, by subtype. A request stays unanswered if its function returns None."""


class AgentProcess:
    """One running agent. `lines` holds the JSON objects it wrote, `invalid_lines` all other lines."""

    def __init__(self, process: asyncio.subprocess.Process, answers: Answers) -> None:
        self.process = process
        self.lines: list[Json] = []
        self.invalid_lines: list[str] = []
        self.stderr = ""
        self.waiting_for = ""
        self._answers = answers
        self._position = 0
        self._requests = 0
        self._changed = asyncio.Event()
        self._readers = [asyncio.create_task(self._read_lines()), asyncio.create_task(self._read_stderr())]

    # Sending
    async def write(self, data: bytes) -> None:
        """Send raw bytes. Does not fail if the agent has exited: waiting for its answer reports that."""
        assert self.process.stdin
        with suppress(ConnectionError):
            self.process.stdin.write(data)
            await self.process.stdin.drain()

    async def send(self, line: Any) -> None:
        """Send one line."""
        await self.write(msgspec.json.encode(line) + b"\n")

    async def prompt(self, content: str | list[Json], **extra: Any) -> None:
        """Send a prompt without waiting for its result."""
        message = {"role": "user", "content": content}
        await self.send({"type": "user", "message": message, "parent_tool_use_id": None, "session_id": "", **extra})

    async def send_request(self, subtype: str, **fields: Any) -> str:
        """Send a control request and return its id."""
        self._requests += 1
        request_id = f"check-{self._requests}"
        request = {"subtype": subtype, **fields}
        await self.send({"type": "control_request", "request_id": request_id, "request": request})
        return request_id

    async def answer_to(self, request_id: str) -> Json:
        """Wait for the answer to a control request and return its `response`."""
        line = await self._find(f"the answer to {request_id}", lambda line: _answers_to(line) == request_id, 0)
        return line["response"]

    async def request(self, subtype: str, **fields: Any) -> Json:
        """Send a control request and wait for its answer."""
        return await self.answer_to(await self.send_request(subtype, **fields))

    async def answer(self, request: Json, response: Json) -> None:
        """Answer a request of the agent."""
        body = {"subtype": "success", "request_id": request.get("request_id"), "response": response}
        await self.send({"type": "control_response", "response": body})

    # Receiving
    async def wait_for(self, what: str, matches: Callable[[Json], bool]) -> Json:
        """Wait for the next matching line after the one returned before."""
        line = await self._find(what, matches, self._position)
        self._position = self.lines.index(line, self._position) + 1
        return line

    async def result(self) -> Json:
        """Wait for the next result."""
        return await self.wait_for("a result", lambda line: line.get("type") == "result")

    async def next_request(self, subtype: str = "can_use_tool") -> Json:
        """Wait for the agent's next request with this subtype."""
        return await self.wait_for(f"the request {subtype}", lambda line: _request(line).get("subtype") == subtype)

    async def system(self, subtype: str) -> Json:
        """Wait for the next system line with this subtype."""
        return await self.wait_for(
            f"system/{subtype}", lambda line: line.get("type") == "system" and line.get("subtype") == subtype
        )

    async def turn(self, content: str | list[Json], **extra: Any) -> list[Json]:
        """Send a prompt and wait for its result. Returns the new lines, up to the result."""
        start = self._position
        await self.prompt(content, **extra)
        await self.result()
        return self.lines[start : self._position]

    async def lines_until_exit(self) -> list[Json]:
        """Close its input, wait until it exits, and return the new lines."""
        start = self._position
        await self.end()
        return self.lines[start:]

    # Ending
    async def end(self) -> int:
        """Close its input and wait. Returns the exit code."""
        assert self.process.stdin
        self.process.stdin.close()
        return await self.wait()

    async def wait(self) -> int:
        """Wait until it exits. Returns the exit code; 128 + N for signal N."""
        self.waiting_for = "the process to exit"
        await asyncio.gather(*self._readers)
        code = await self.process.wait()
        return 128 - code if code < 0 else code

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        self.process.send_signal(number)

    async def kill(self) -> None:
        """Kill its process group."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)
        await self.process.wait()

    @property
    def last_lines(self) -> str:
        """The types of the last lines, for error messages."""
        return f"last lines: {kinds(self.lines[-4:])}" if self.lines else "no output"

    async def _find(self, what: str, matches: Callable[[Json], bool], start: int) -> Json:
        self.waiting_for = what
        place = start
        while True:
            while place < len(self.lines):
                if matches(self.lines[place]):
                    return self.lines[place]
                place += 1
            if self._readers[0].done():
                raise Drift(f"the agent exited before {what}; {self.last_lines}{self._stderr_note()}")
            self._changed.clear()
            await self._changed.wait()

    def _stderr_note(self) -> str:
        return f"; stderr: {self.stderr.strip()[:200]!r}" if self.stderr.strip() else ""

    async def _read_lines(self) -> None:
        assert self.process.stdout
        rest = bytearray()
        try:
            while data := await self.process.stdout.read(1 << 16):
                rest += data
                *whole, tail = rest.split(b"\n")
                rest = bytearray(tail)
                for line in whole:
                    await self._handle_line(bytes(line))
            if rest:
                self.invalid_lines.append(bytes(rest).decode("utf-8", "replace"))
        finally:
            self._changed.set()

    async def _handle_line(self, data: bytes) -> None:
        try:
            line: Any = msgspec.json.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            line = None
        if not isinstance(line, dict):
            self.invalid_lines.append(data.decode("utf-8", "replace"))
            return
        found = cast("Json", line)
        self.lines.append(found)
        self._changed.set()
        handler = self._answers.get(str(_request(found).get("subtype")))
        if handler and (response := handler(_request(found))) is not None:
            await self.answer(found, response)

    async def _read_stderr(self) -> None:
        assert self.process.stderr
        while data := await self.process.stderr.read(1 << 16):
            self.stderr = (self.stderr + data.decode("utf-8", "replace"))[-65536:]


def _request(line: Json) -> Json:
    request = line.get("request") if line.get("type") == "control_request" else None
    return cast("Json", request) if isinstance(request, dict) else {}


def _answers_to(line: Json) -> Any:
    response = line.get("response") if kind(line).startswith("control_response") else None
    return cast("Json", response).get("request_id") if isinstance(response, dict) else None
