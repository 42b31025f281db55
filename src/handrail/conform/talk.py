"""A conversation with an agent under test. In: lines, and what answers its requests. Out: the lines it wrote."""

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

__all__ = ["Answers", "Talk"]

Answers = Mapping[str, Callable[[Json], Json | None]]
"""What answers a request of the agent, by its subtype; None leaves it open."""


class Talk:
    """One running agent. `lines` holds every object it wrote, `strange` what was none."""

    def __init__(self, process: asyncio.subprocess.Process, answers: Answers) -> None:
        self.process = process
        self.lines: list[Json] = []
        self.strange: list[str] = []
        self.errors = ""
        self.waits_for = ""
        self._answers = answers
        self._place = 0
        self._requests = 0
        self._changed = asyncio.Event()
        self._readers = [asyncio.create_task(self._read_lines()), asyncio.create_task(self._read_errors())]

    # Sending
    async def write(self, data: bytes) -> None:
        """Send bytes as they are. An agent that has gone is seen where its answer is awaited."""
        assert self.process.stdin
        with suppress(ConnectionError):
            self.process.stdin.write(data)
            await self.process.stdin.drain()

    async def send(self, line: Any) -> None:
        """Send one line."""
        await self.write(msgspec.json.encode(line) + b"\n")

    async def prompt(self, content: str | list[Json], **extra: Any) -> None:
        """Send a prompt and wait for nothing."""
        message = {"role": "user", "content": content}
        await self.send({"type": "user", "message": message, "parent_tool_use_id": None, "session_id": "", **extra})

    async def ask(self, subtype: str, **fields: Any) -> str:
        """Send a control request. Out: its id."""
        self._requests += 1
        request_id = f"check-{self._requests}"
        request = {"subtype": subtype, **fields}
        await self.send({"type": "control_request", "request_id": request_id, "request": request})
        return request_id

    async def answered(self, request_id: str) -> Json:
        """The answer to a control request: what stands in `response`."""
        line = await self._first(f"the answer to {request_id}", lambda line: _answers_to(line) == request_id, 0)
        return line["response"]

    async def request(self, subtype: str, **fields: Any) -> Json:
        """Send a control request and wait for its answer."""
        return await self.answered(await self.ask(subtype, **fields))

    async def answer(self, request: Json, response: Json) -> None:
        """Answer a request of the agent."""
        body = {"subtype": "success", "request_id": request.get("request_id"), "response": response}
        await self.send({"type": "control_response", "response": body})

    # Receiving
    async def until(self, what: str, fits: Callable[[Json], bool]) -> Json:
        """The next line that fits, after the one that was awaited before."""
        line = await self._first(what, fits, self._place)
        self._place = self.lines.index(line, self._place) + 1
        return line

    async def result(self) -> Json:
        """The next result."""
        return await self.until("a result", lambda line: line.get("type") == "result")

    async def asked(self, subtype: str = "can_use_tool") -> Json:
        """The next request of the agent with this subtype."""
        return await self.until(f"the request {subtype}", lambda line: _request(line).get("subtype") == subtype)

    async def system(self, subtype: str) -> Json:
        """The next system line with this subtype."""
        return await self.until(
            f"system/{subtype}", lambda line: line.get("type") == "system" and line.get("subtype") == subtype
        )

    async def turn(self, content: str | list[Json], **extra: Any) -> list[Json]:
        """Send a prompt. Out: the lines since the last one that was awaited, up to the result."""
        start = self._place
        await self.prompt(content, **extra)
        await self.result()
        return self.lines[start : self._place]

    async def settled(self) -> list[Json]:
        """The lines since the last one that was awaited, once the agent has nothing more to write: after its end."""
        start = self._place
        await self.end()
        return self.lines[start:]

    # Its end
    async def end(self) -> int:
        """Close its input. Out: the exit code."""
        assert self.process.stdin
        self.process.stdin.close()
        return await self.exited()

    async def exited(self) -> int:
        """The exit code, as a shell tells it."""
        self.waits_for = "the end of the process"
        await asyncio.gather(*self._readers)
        code = await self.process.wait()
        return 128 - code if code < 0 else code

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    async def kill(self) -> None:
        """End it and its process group, whatever it does."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)
        await self.process.wait()

    @property
    def last(self) -> str:
        """The last lines, in words."""
        return f"last came {kinds(self.lines[-4:])}" if self.lines else "nothing came"

    async def _first(self, what: str, fits: Callable[[Json], bool], start: int) -> Json:
        self.waits_for = what
        place = start
        while True:
            while place < len(self.lines):
                if fits(self.lines[place]):
                    return self.lines[place]
                place += 1
            if self._readers[0].done():
                raise Drift(f"{what} never came: the output ended; {self.last}{self._complaint()}")
            self._changed.clear()
            await self._changed.wait()

    def _complaint(self) -> str:
        return f"; stderr says {self.errors.strip()[:200]!r}" if self.errors.strip() else ""

    async def _read_lines(self) -> None:
        assert self.process.stdout
        rest = bytearray()
        try:
            while data := await self.process.stdout.read(1 << 16):
                rest += data
                *whole, tail = rest.split(b"\n")
                rest = bytearray(tail)
                for line in whole:
                    await self._take(bytes(line))
            if rest:
                self.strange.append(bytes(rest).decode("utf-8", "replace"))
        finally:
            self._changed.set()

    async def _take(self, data: bytes) -> None:
        try:
            line: Any = msgspec.json.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            line = None
        if not isinstance(line, dict):
            self.strange.append(data.decode("utf-8", "replace"))
            return
        found = cast("Json", line)
        self.lines.append(found)
        self._changed.set()
        handler = self._answers.get(str(_request(found).get("subtype")))
        if handler and (response := handler(_request(found))) is not None:
            await self.answer(found, response)

    async def _read_errors(self) -> None:
        assert self.process.stderr
        while data := await self.process.stderr.read(1 << 16):
            self.errors = (self.errors + data.decode("utf-8", "replace"))[-65536:]


def _request(line: Json) -> Json:
    request = line.get("request") if line.get("type") == "control_request" else None
    return cast("Json", request) if isinstance(request, dict) else {}


def _answers_to(line: Json) -> Any:
    response = line.get("response") if kind(line).startswith("control_response") else None
    return cast("Json", response).get("request_id") if isinstance(response, dict) else None
