"""Output that is too large for the conversation. In: the text. Out: a beginning of it, and the file that has all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    from handrail.agent.desk import Desk

__all__ = ["Output", "fitted", "persisted", "readable_size"]

_PREVIEW: Final = 2048
_CHUNK: Final = 1024 * 1024
_LARGEST_FILE: Final = 256 * 1024 * 1024
_MARGIN: Final = 4
"""How many bytes a character may have."""


def readable_size(size: int) -> str:
    """A number of bytes, for people."""
    for unit, amount in (("GB", 1024**3), ("MB", 1024**2), ("KB", 1024)):
        if size >= amount:
            return f"{size / amount:.1f}".removesuffix(".0") + unit
    return f"{size} bytes"


def persisted(text: str, size: int, path: str) -> str:
    """What the model is told of an output that lies in a file."""
    preview = text[:_PREVIEW]
    if len(text) > _PREVIEW and "\n" in preview:
        preview = preview[: preview.rindex("\n")]
    return (
        f"<persisted-output>\nOutput too large ({readable_size(size)}). Full output saved to: {path}\n\n"
        f"Preview (first {readable_size(_PREVIEW)}):\n{preview}\n...\n</persisted-output>"
    )


def fitted(text: str, desk: Desk, limit: int) -> str:
    """A text for the model: as it is if it fits, else its beginning and where the rest lies."""
    if len(text) <= limit:
        return text
    output = Output(limit, desk.results_folder)
    output.take(text.encode("utf-8", "replace"))
    output.keep()
    output.close()
    if output.path:
        return persisted(text, output.size, output.path)
    return f"{text[:limit]}\n\n… [{len(text) - limit:,} more characters are not shown]"


class Output:
    """What a command prints: the beginning in memory, and all of it in a file as soon as it is too much."""

    def __init__(self, limit: int, folder: str) -> None:
        self.size = 0
        self.path = ""
        self._limit = limit
        self._folder = folder
        self._head = bytearray()
        self._file: BinaryIO | None = None

    def take(self, data: bytes) -> None:
        """Some more of it."""
        room = self._limit * _MARGIN - len(self._head)
        self.size += len(data)
        if self._file is None and len(data) > room and self._folder and not self.path:
            self._open_file()
        if self._file is not None and self.size <= _LARGEST_FILE:
            try:
                self._file.write(data)
            except OSError:  # a full disk: what is there stays
                self.close()
        if room > 0:
            self._head += data[:room]

    def close(self) -> None:
        """No more comes."""
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError:
                return

    @property
    def text(self) -> str:
        """The beginning, no longer than the limit."""
        return self.whole_head[: self._limit]

    @property
    def whole_head(self) -> str:
        """All that is in memory."""
        return self._head.decode("utf-8", "replace")

    @property
    def is_cut(self) -> bool:
        """Is there more than `text` shows?"""
        return self.size > len(self._head) or len(self.whole_head) > self._limit

    def keep(self) -> None:
        """See to it that a file has all of it, where there is a folder for that."""
        if not self.path and self._folder and self.size == len(self._head):
            self._open_file()
            self.close()

    def parts(self) -> Iterator[bytes]:
        """All of it that was kept."""
        self.close()
        if not self.path:
            yield bytes(self._head)
            return
        with open(self.path, "rb") as file:
            while part := file.read(_CHUNK):
                yield part

    def _open_file(self) -> None:
        name = f"{secrets.token_hex(5)}.txt"
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            path = os.path.join(self._folder, name)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            self._file = os.fdopen(os.open(path, flags, 0o600), "wb")
            self._file.write(self._head)
        except OSError:
            self._file = None
            self._folder = ""
            return
        self.path = path
