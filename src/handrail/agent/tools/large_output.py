"""Output too large for the conversation: the model gets its beginning and the path of a file with all of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk

__all__ = ["Output", "fitted", "persisted", "readable_size", "saved"]

_PREVIEW: Final = 2048
_CHUNK: Final = 1024 * 1024
_TAIL: Final = 8 * 1024
_MAX_FILE: Final = 256 * 1024 * 1024
_BYTES_PER_CHARACTER: Final = 4
"""The most that UTF-8 uses."""


def readable_size(size: int) -> str:
    """Format a number of bytes."""
    for unit, amount in (("GB", 1024**3), ("MB", 1024**2), ("KB", 1024)):
        if size >= amount:
            return f"{size / amount:.1f}".removesuffix(".0") + unit
    return f"{size} bytes"


def _new_file(path: str) -> BinaryIO:
    """Create a file that only the user can read, and its folder. Raises OSError, also if the file exists."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o600), "wb")


def saved(path: str, data: bytes) -> str:
    """Write a new file. Returns its path, "" if that is not possible."""
    try:
        with _new_file(path) as file:
            file.write(data)
    except OSError:
        return ""
    return path


def persisted(text: str, size: int, path: str) -> str:
    """The text for the model about an output that was saved to a file."""
    preview = text[:_PREVIEW]
    if len(text) > _PREVIEW and "\n" in preview:
        preview = preview[: preview.rindex("\n")]
    return (
        f"<persisted-output>\nOutput too large ({readable_size(size)}). Full output saved to: {path}\n\n"
        f"Preview (first {readable_size(_PREVIEW)}):\n{preview}\n...\n</persisted-output>"
    )


def fitted(text: str, desk: Desk, limit: int) -> str:
    """Return the text if it fits; else save it and return a preview with the path of the file."""
    if len(text) <= limit:
        return text
    output = Output(limit, desk.results_folder)
    output.write(text.encode("utf-8", "replace"))
    output.save()
    output.close()
    if output.path:
        return persisted(text, output.size, output.path)
    return f"{text[:limit]}\n\n… [{len(text) - limit:,} more characters are not shown]"


class Output:
    """The output of a command. Its beginning is kept in memory; if it gets too large, a file gets all of it."""

    def __init__(self, limit: int, folder: str) -> None:
        self.size = 0
        self.path = ""
        self._limit = limit
        self._folder = folder
        self._head = bytearray()
        self._tail = b""
        self._file: BinaryIO | None = None

    def write(self, data: bytes) -> None:
        """Append some output."""
        room = self._limit * _BYTES_PER_CHARACTER - len(self._head)
        self.size += len(data)
        self._tail = (self._tail + data[-_TAIL:])[-_TAIL:]
        if self._file is None and len(data) > room and self._folder and not self.path:
            self._open_file()
        if self._file is not None and self.size <= _MAX_FILE:
            try:
                self._file.write(data)
            except OSError:  # the disk is full: keep what has been written
                self.close()
        if room > 0:
            self._head += data[:room]

    def close(self) -> None:
        """Close the file."""
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError:
                return

    @property
    def text(self) -> str:
        """The beginning, at most `limit` characters."""
        return self._decoded[: self._limit]

    @property
    def tail(self) -> str:
        """The newest output, a few kilobytes at most."""
        return self._tail.decode("utf-8", "replace")

    @property
    def is_truncated(self) -> bool:
        """Whether there is more output than `text`."""
        return self.size > len(self._head) or len(self._decoded) > self._limit

    def save(self) -> None:
        """Make sure that all of the output is in a file, if there is a folder for it."""
        if not self.path and self._folder and self.size == len(self._head):
            self._open_file()
            self.close()

    def parts(self) -> Iterator[bytes]:
        """All stored output, from the file or from memory."""
        self.close()
        if not self.path:
            yield bytes(self._head)
            return
        with open(self.path, "rb") as file:
            while part := file.read(_CHUNK):
                yield part

    @property
    def _decoded(self) -> str:
        return self._head.decode("utf-8", "replace")

    def _open_file(self) -> None:
        path = os.path.join(self._folder, f"{os.urandom(5).hex()}.txt")
        try:
            self._file = _new_file(path)
            self._file.write(self._head)
        except OSError:
            self._file = None
            self._folder = ""
            return
        self.path = path
