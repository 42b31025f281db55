"""A server that is a child process: one JSON message per line. In: argv, folder, environment. Out: a Channel.

What is no message is dropped without being kept, however much of it comes; stderr is always read and only its end kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from handrail.agent.errors import McpError
from handrail.agent.mcp.rpc import Failed, JsonObject, Lost, Receive
from handrail.protocol.frames import BadLine
from handrail.protocol.lines import LineSplitter
from handrail.transport.base import TransportClosed
from handrail.transport.process import ProcessTransport

__all__ = ["LONGEST_MESSAGE", "StdioChannel"]

LONGEST_MESSAGE: Final = 8 * 1024 * 1024
MOST_IN_A_BATCH: Final = 1000
TOO_LONG: Final = f"the server's answer is longer than {LONGEST_MESSAGE // (1024 * 1024)} MiB and was dropped"


class StdioChannel:
    """One child, in a process group of its own; it and all it started end with this channel, and with this process."""

    def __init__(self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> None:
        self._process = ProcessTransport(argv, cwd=cwd, env=env, eof_grace=0.5, term_grace=0.5)
        self._reading: asyncio.Task[None] | None = None
        self._sending = asyncio.Lock()

    async def open(self, receive: Receive, lost: Lost) -> None:
        try:
            await self._process.start()
        except OSError as error:
            raise McpError(f"it could not be started: {error}") from None
        self._reading = asyncio.create_task(self._read(receive, lost))

    async def send(self, message: JsonObject) -> None:
        async with self._sending:
            try:
                await self._process.send(msgspec.json.encode(message) + b"\n")
            except TransportClosed:
                raise McpError("the server's process has ended") from None

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        await self._process.close()

    async def _read(self, receive: Receive, lost: Lost) -> None:
        lines = LineSplitter(LONGEST_MESSAGE)
        while chunk := await self._process.receive():
            for line in lines.feed(chunk):
                for message in _messages(line):
                    receive(message)
        words = self._process.stderr.strip()
        lost("the server's process has ended" + (f": {words[-600:]}" if words else ""))


def _messages(line: bytes | BadLine) -> Sequence[JsonObject | Failed]:
    """The messages of one line; none where it holds none."""
    if isinstance(line, BadLine):
        return [Failed(McpError(TOO_LONG))] if line.raw.lstrip().startswith(b"{") else []
    if line.lstrip()[:1] not in (b"{", b"["):
        return []
    try:
        found: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    many = cast("list[Any]", found)[:MOST_IN_A_BATCH] if isinstance(found, list) else [found]
    return [cast("JsonObject", one) for one in many if isinstance(one, dict)]
