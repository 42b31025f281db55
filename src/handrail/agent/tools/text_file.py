"""Text as it lies on disk: its encoding, byte order mark and line ends. In: bytes. Out: text, and the way back."""

from __future__ import annotations

import codecs
import os
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from handrail.agent.desk import Seen
from handrail.agent.tools.base import ToolFailed
from handrail.agent.tools.refusal import files_explained
from handrail.files.open import read_resolved, write_resolved

if TYPE_CHECKING:
    from handrail.agent.desk import Desk
    from handrail.permissions.paths import Resolved

__all__ = [
    "CHANGED",
    "CURRENT",
    "UNREAD",
    "TextFile",
    "as_shown",
    "changed_since",
    "is_binary",
    "look",
    "missing",
    "put",
    "read_text",
]

CHANGED: Final = (
    "File has been modified since read, either by the user or by a linter. Read it again before attempting to write it."
)
UNREAD: Final = "File has not been read yet. Read it first before writing to it."
CURRENT: Final = "(file state is current in your context — no need to Read it back)"
_LOOKED_AT: Final = 8192


class TextFile(Struct, frozen=True):
    """A text with plain line ends, and how it is put on disk.

    Bytes that are no UTF-8 are kept as surrogates, so that what is not edited comes back as it was.
    """

    text: str = ""
    encoding: str = "utf-8"
    mark: bytes = b""
    crlf: bool = False

    @classmethod
    def of(cls, data: bytes) -> TextFile:
        """Read bytes. ToolFailed where they are no text."""
        if data.startswith(codecs.BOM_UTF16_LE):
            text, encoding, mark = data[2:].decode("utf-16-le", "replace"), "utf-16-le", codecs.BOM_UTF16_LE
        elif is_binary(data):
            raise ToolFailed(
                "It has NUL bytes at its beginning, so it is no text that could be changed here; nothing was written. "
                "Use a command that knows its format, or delete it first."
            )
        else:
            mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
            text, encoding = data[len(mark) :].decode("utf-8", "surrogateescape"), "utf-8"
        # Where line ends are mixed, none is touched.
        crlf = "\r\n" in text and text.count("\r\n") == text.count("\n")
        return cls(text.replace("\r\n", "\n") if crlf else text, encoding, mark, crlf)

    def bytes_of(self, text: str) -> bytes:
        """Another text, put on disk as this one was."""
        if self.crlf:
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        try:
            return self.mark + text.encode(self.encoding, "surrogateescape")
        except UnicodeEncodeError as error:
            raise ToolFailed(
                f"The text has a character that cannot be written as {self.encoding} at position {error.start}: "
                "half of a surrogate pair. Nothing was written."
            ) from error


def as_shown(text: str) -> str:
    """A text with what is no character replaced, so that it can be sent."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if not text.isascii() else text


def is_binary(data: bytes) -> bool:
    """Does it look like anything but text?"""
    return b"\x00" in data[:_LOOKED_AT]


def missing(desk: Desk, resolved: Resolved) -> str:
    """What is said of a file that is not there."""
    said = f"File does not exist. Note: your current working directory is {desk.cwd}."
    folder, name = os.path.split(resolved.real or resolved.lexical)
    try:
        names = os.listdir(folder)
    except OSError:
        return said
    near = get_close_matches(name, names, n=1, cutoff=0.8)
    return f"{said} Did you mean {near[0]}?" if near else said


def look(resolved: Resolved) -> Seen | None:
    """A file as it lies there now."""
    try:
        found = os.stat(resolved.real or "", follow_symlinks=False)
    except (OSError, ValueError):
        return None
    return Seen(found.st_mtime_ns, found.st_size)


def changed_since(seen: Seen, resolved: Resolved) -> bool:
    """Is it another file than the model saw?"""
    now = look(resolved)
    return now is None or (now.modified, now.size) != (seen.modified, seen.size)


def read_text(resolved: Resolved) -> TextFile:
    """The text of a file."""
    with files_explained():
        data = read_resolved(resolved)
    return TextFile.of(data)


def put(resolved: Resolved, data: bytes, desk: Desk, *, knows: bool = True) -> None:
    """Write a file, told of beforehand; the model `knows` what it now contains, or it does not."""
    path = resolved.real or resolved.lexical
    desk.before_change(path)
    with files_explained():
        write_resolved(resolved, data, make_folders=True)
    now = look(resolved)
    if knows and now is not None:
        desk.seen[path] = now
