"""Splits a stream of bytes into lines.

Only `\\n` ends a line; U+2028 and similar characters may occur in a JSON string. A line over the limit becomes a
BadLine with its beginning; the rest of it is skipped without being stored, and the next line is unaffected.
"""

from __future__ import annotations

from handrail.protocol.frames import BadLine

__all__ = ["DEFAULT_LIMIT", "LineSplitter"]

DEFAULT_LIMIT = 32 * 1024 * 1024
"""Default for the longest accepted line, in bytes."""

SMALL = 64 * 1024
"""Parts of a line smaller than this are joined."""


class LineSplitter:
    """Splits a stream of bytes at newlines, in linear time."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self._parts: list[bytes] = []
        self._small = bytearray()
        self._size = 0

    def feed(self, data: bytes) -> list[bytes | BadLine]:
        """Add a chunk of any size. Returns the lines that are now complete, without blank ones."""
        whole = data.split(b"\n")
        tail = whole.pop()
        lines: list[bytes | BadLine] = []
        if whole:
            self._hold(whole[0])
            lines.append(self._release())
            rest = whole[1:]  # fast path for most chunks: if no line starts with white space, none is blank
            plain = len(data) <= self.limit and b"\r" not in data and min(rest, default=b"!") >= b"!"
            lines += rest if plain else self._checked(rest)
        self._hold(tail)
        return lines if not lines or lines[0] else lines[1:]

    def finish(self, *, ends_line: bool = False) -> list[bytes | BadLine]:
        """End of stream. Returns a BadLine if it ended inside a line, or that line if the end of the stream ends it."""
        if not self._size:
            return []
        if ends_line:
            last = self._release()
            return [last] if last else []
        kept, size = self._take()
        return (
            [] if size == len(kept) and kept.isspace() else [BadLine(kept, "the stream ended inside this line", size)]
        )

    def _hold(self, part: bytes) -> None:
        """Store a part of a line, up to the limit. Small parts are joined: a list of them takes far more memory."""
        kept = part[: max(self.limit - self._size, 0)]
        self._size += len(part)
        if len(kept) < SMALL and len(self._small) < SMALL:
            self._small += kept
        elif kept:
            self._parts += (bytes(self._small), kept)
            self._small.clear()

    def _take(self) -> tuple[bytes, int]:
        kept, size = b"".join((*self._parts, self._small)), self._size
        self._parts, self._size = [], 0
        self._small.clear()
        return kept, size

    def _release(self) -> bytes | BadLine:
        kept, size = self._take()
        return _ended(kept) if size <= self.limit else self._too_long(kept, size)

    def _checked(self, lines: list[bytes]) -> list[bytes | BadLine]:
        fitting = (
            _ended(line) if len(line) <= self.limit else self._too_long(line[: self.limit], len(line)) for line in lines
        )
        return [line for line in fitting if line]

    def _too_long(self, kept: bytes, size: int) -> BadLine:
        return BadLine(kept, f"the line has {size} bytes, more than the limit of {self.limit}", size)


def _ended(line: bytes) -> bytes:
    """Strip a trailing carriage return, and make a line of white space empty."""
    line = line[:-1] if line.endswith(b"\r") else line
    return b"" if line.isspace() else line
