"""Where lines go: to a host, or to standard output as lines, as one JSON value or as text."""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from handrail.connection import Connection, Disconnected
from handrail.protocol.codec import encode_message

__all__ = ["JsonOutput", "LinesOutput", "PrintedLines", "TextOutput"]

JsonObject = dict[str, Any]


class LinesOutput:
    """Sends lines to the host. They are dropped after it has disconnected."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def emit(self, line: JsonObject) -> None:
        try:
            await self._connection.send(encode_message(line))
        except Disconnected:
            return

    async def finish(self) -> None:
        return


class PrintedLines:
    """Prints every line."""

    async def emit(self, line: JsonObject) -> None:
        _print(msgspec.json.encode(line))

    async def finish(self) -> None:
        return


class JsonOutput:
    """Prints the result as JSON at the end, or with `every` all lines as one list."""

    def __init__(self, *, every: bool = False) -> None:
        self._every = every
        self._lines: list[JsonObject] = []

    async def emit(self, line: JsonObject) -> None:
        if self._every or line.get("type") == "result":
            self._lines.append(line)

    async def finish(self) -> None:
        if self._every:
            _print(msgspec.json.encode(self._lines))
        elif self._lines:
            _print(msgspec.json.encode(self._lines[-1]))


class TextOutput:
    """Prints the text of each result, or its errors. The end of a background task starts another turn."""

    def __init__(self) -> None:
        self._printed = False

    async def emit(self, line: JsonObject) -> None:
        if line.get("type") != "result":
            return
        text = line.get("result")
        shown = text if isinstance(text, str) else "\n".join(line.get("errors", ()))
        _print((f"\n{shown}" if self._printed else shown).encode())
        self._printed = True

    async def finish(self) -> None:
        return


def _print(line: bytes) -> None:
    try:
        sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        return
