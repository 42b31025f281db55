"""Channels to MCP servers that are child processes of the agent or run in the host."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from handrail.agent.errors import McpError
from handrail.agent.mcp.rpc import INTERNAL_ERROR, Failed, JsonObject, Lost, Receive, refused
from handrail.protocol.frames import BadLine
from handrail.protocol.lines import LineSplitter

if TYPE_CHECKING:
    from handrail.transport.process import ProcessTransport

__all__ = ["LONGEST_MESSAGE", "SdkChannel", "SendToHost", "StdioChannel"]

SendToHost = Callable[[str, JsonObject], Awaitable[Any]]
"""Sends a message to the server of this name in the host and returns the host's answer."""

LONGEST_MESSAGE: Final = 8 * 1024 * 1024
MOST_IN_A_BATCH: Final = 1000
TOO_LONG: Final = f"the server's answer is longer than {LONGEST_MESSAGE // (1024 * 1024)} MiB and was dropped"


class SdkChannel:
    """A server that runs in the host. Messages travel as control requests.

    A message that was handed over is never withdrawn: a cancelled call is cancelled by a notification.
    """

    def __init__(self, name: str, send: SendToHost) -> None:
        self._name, self._hand_over = name, send
        self._receive: Receive | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, receive: Receive, lost: Lost) -> None:
        self._receive = receive

    async def send(self, message: JsonObject) -> None:
        """Hand a message over. Waits for the host's acknowledgement, except for requests, whose answer comes later."""
        task = asyncio.create_task(self._exchange(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if "method" not in message or "id" not in message:
            await asyncio.shield(task)

    async def close(self) -> None:
        tasks, self._receive = [*self._tasks], None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _exchange(self, message: JsonObject) -> None:
        is_request = "method" in message and "id" in message
        try:
            answer = await self._hand_over(self._name, message)
        except Exception as error:
            text = str(error) or type(error).__name__
            if not is_request:
                raise McpError(text) from None
            answer = refused(message["id"], INTERNAL_ERROR, text)
        if not is_request or self._receive is None:
            return
        if not isinstance(answer, dict) or not ("result" in answer or "error" in answer):
            answer = refused(message["id"], INTERNAL_ERROR, "the host answered without a result or an error")
        self._receive({**answer, "id": message["id"]})


class StdioChannel:
    """A server as a child process, with one JSON message per line.

    The child has its own process group, which ends with this channel and with the agent. Output that is not a message
    is dropped unread; of stderr only the end is kept, for error messages.
    """

    def __init__(self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> None:
        self._argv, self._cwd, self._env = argv, cwd, env
        self._process: ProcessTransport | None = None
        self._reading: asyncio.Task[None] | None = None
        self._sending = asyncio.Lock()

    async def open(self, receive: Receive, lost: Lost) -> None:
        from handrail.transport.process import ProcessTransport

        process = self._process = ProcessTransport(
            self._argv, cwd=self._cwd, env=self._env, eof_grace=0.5, term_grace=0.5
        )
        try:
            await process.start()
        except OSError as error:
            raise McpError(f"it could not be started: {error}") from None
        self._reading = asyncio.create_task(_read(process, receive, lost))

    async def send(self, message: JsonObject) -> None:
        from handrail.transport.base import TransportClosed

        assert self._process is not None
        async with self._sending:
            try:
                await self._process.send(msgspec.json.encode(message) + b"\n")
            except TransportClosed:
                raise McpError("the server's process has ended") from None

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        if self._process is not None:
            await self._process.close()


async def _read(process: ProcessTransport, receive: Receive, lost: Lost) -> None:
    lines = LineSplitter(LONGEST_MESSAGE)
    while chunk := await process.receive():
        for line in lines.feed(chunk):
            for message in _messages(line):
                receive(message)
    words = process.stderr.strip()
    lost("the server's process has ended" + (f": {words[-600:]}" if words else ""))


def _messages(line: bytes | BadLine) -> Sequence[JsonObject | Failed]:
    """The messages of one line, empty for other output."""
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
