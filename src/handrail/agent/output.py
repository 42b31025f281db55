"""How what is said leaves. In: lines of the wire. Out: lines, one JSON, or the text of the answer alone."""

from __future__ import annotations

import sys
from typing import Any, Protocol

import msgspec

from handrail.connection import Connection, Disconnected
from handrail.protocol.codec import encode_message

__all__ = ["JsonOutput", "LinesOutput", "Output", "PrintedLines", "TextOutput"]

JsonObject = dict[str, Any]


class Output(Protocol):
    """Where lines go."""

    async def emit(self, line: JsonObject) -> None:
        """One line."""
        ...

    async def finish(self) -> None:
        """There is nothing more."""
        ...


class LinesOutput:
    """To a host that reads lines. Where it has gone, the rest is lost and nobody minds."""

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
    """Lines on standard output, where the host writes none."""

    async def emit(self, line: JsonObject) -> None:
        _print(msgspec.json.encode(line))

    async def finish(self) -> None:
        return


class JsonOutput:
    """One JSON at the end: the result, or with `every` all lines in a list."""

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
    """The text of the last result, or what went wrong."""

    def __init__(self) -> None:
        self._result: JsonObject = {}

    async def emit(self, line: JsonObject) -> None:
        if line.get("type") == "result":
            self._result = line

    async def finish(self) -> None:
        if self._result:
            text = self._result.get("result")
            _print((text if isinstance(text, str) else "\n".join(self._result.get("errors", ()))).encode())


def _print(line: bytes) -> None:
    try:
        sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        return
