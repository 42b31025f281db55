"""Parses server-sent events from chunks of bytes. Pure.

Lines end with LF, CRLF or CR. Several `data` lines are joined. Comments and unknown fields are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator

from handrail.errors import PeerError

__all__ = ["EventReader", "EventTooLong"]

LONGEST_EVENT = 64 * 1024 * 1024
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventTooLong(PeerError):
    """An event is larger than the limit: the server does not send events, or means harm."""


class EventReader:
    """Parses one stream. An event is complete with the empty line after it."""

    def __init__(self, *, longest: int = LONGEST_EVENT) -> None:
        self._longest = longest
        self._rest: list[bytes] = []
        self._size = 0
        self._after_cr = False
        self._first = True
        self._event = ""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[tuple[str, bytes]]:
        """Yield (event, data) for each event that these bytes complete."""
        for line in self._lines(chunk):
            if line:
                self._field(line)
                continue
            event, data = self._event, self._data
            self._event, self._data, self._size = "", [], 0
            if data:
                yield event, b"\n".join(data)

    def _lines(self, chunk: bytes) -> Iterator[bytes]:
        if self._after_cr and chunk:
            chunk, self._after_cr = chunk.removeprefix(b"\n"), False
        if self._size > self._longest:
            raise EventTooLong(f"an event of more than {self._longest} bytes")
        self._size += len(chunk)
        if b"\n" not in chunk and b"\r" not in chunk:
            if chunk:
                self._rest.append(chunk)
            return
        self._after_cr = chunk.endswith(b"\r")
        *lines, rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        lines[0] = b"".join([*self._rest, lines[0]])
        self._rest = [rest] if rest else []
        if self._first:
            lines[0], self._first = lines[0].removeprefix(BYTE_ORDER_MARK), False
        yield from lines

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
