"""Reading and writing text files without changing their encoding, byte order mark or line ends."""

from __future__ import annotations

import codecs
import os
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from handrail.agent.tools.base import ToolFailed, explain_file_errors
from handrail.agent.tools.desk import Seen
from handrail.files.errors import FileError
from handrail.files.open import read_resolved, siblings, stat_resolved, write_resolved
from handrail.permissions.paths.matching import inside

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk
    from handrail.permissions.paths.matching import Resolved

__all__ = [
    "CHANGED",
    "CURRENT",
    "UNREAD",
    "TextFile",
    "as_shown",
    "changed_since",
    "is_binary",
    "look",
    "mark_as_read",
    "missing",
    "put",
    "read_text",
    "unread",
]

CHANGED: Final = (
    "File has been modified since read, either by the user or by a linter. Read it again before attempting to write it."
)
UNREAD: Final = "File has not been read yet. Read it first before writing to it."
CURRENT: Final = "(file state is current in your context — no need to Read it back)"
_PROBED: Final = 8192
"""Bytes at the start of a file that are searched for NUL."""


class TextFile(Struct, frozen=True):
    """A text with LF line ends, and its representation on disk.

    Invalid UTF-8 is decoded to surrogate escapes, so the parts that are not edited are written back unchanged.
    """

    text: str = ""
    encoding: str = "utf-8"
    mark: bytes = b""
    crlf: bool = False

    @classmethod
    def of(cls, data: bytes) -> TextFile:
        """Decode bytes. Raises ToolFailed if they are binary."""
        if data.startswith(codecs.BOM_UTF16_LE):
            text, encoding, mark = data[2:].decode("utf-16-le", "replace"), "utf-16-le", codecs.BOM_UTF16_LE
        elif is_binary(data):
            raise ToolFailed(
                "The file contains NUL bytes, so it is binary and cannot be changed with this tool. Nothing was "
                "written. Use a command that supports its format, or delete it first."
            )
        else:
            mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
            text, encoding = data[len(mark) :].decode("utf-8", "surrogateescape"), "utf-8"
        # Mixed line ends are left alone.
        crlf = "\r\n" in text and text.count("\r\n") == text.count("\n")
        return cls(text.replace("\r\n", "\n") if crlf else text, encoding, mark, crlf)

    def encode(self, text: str) -> bytes:
        """Encode another text with the same encoding, mark and line ends."""
        if self.crlf:
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        try:
            return self.mark + text.encode(self.encoding, "surrogateescape")
        except UnicodeEncodeError as error:
            raise ToolFailed(
                f"The text cannot be encoded as {self.encoding}: unpaired surrogate at position {error.start}. "
                "Nothing was written."
            ) from error


def as_shown(text: str) -> str:
    """Replace surrogate escapes, which cannot be sent as UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if not text.isascii() else text


def is_binary(data: bytes) -> bool:
    """Whether data looks binary."""
    return b"\x00" in data[:_PROBED]


def missing(desk: Desk, resolved: Resolved) -> str:
    """The error for a missing file, with a similar name if there is one."""
    message = f"File does not exist. Note: your current working directory is {desk.cwd}."
    try:
        names = siblings(resolved)
    except FileError:
        return message
    near = get_close_matches(os.path.basename(resolved.real or ""), names, n=1, cutoff=0.8)
    return f"{message} Did you mean {near[0]}?" if near else message


def look(resolved: Resolved) -> Seen | None:
    """The current state of a file, None if it cannot be read."""
    try:
        found = stat_resolved(resolved)
    except FileError:
        return None
    return Seen(found.st_mtime_ns, found.st_size)


def unread(resolved: Resolved, desk: Desk) -> str:
    """The error for a file that the model must read before it changes it; "" if it has, or need not."""
    known = (resolved.real or "") in desk.seen
    return "" if known or (not desk.reads_first() and inside(resolved, desk.anchors())) else UNREAD


def mark_as_read(path: str, milliseconds: float, desk: Desk) -> None:
    """Count a file as read at a time. If it has changed since, Edit and Write refuse it until it is read again."""
    resolved = desk.resolve(path)
    if (now := look(resolved)) is None:
        return
    is_current = now.modified // 1_000_000 <= milliseconds
    desk.seen[resolved.real or ""] = now if is_current else Seen(int(max(milliseconds, 0) * 1_000_000), now.size)


def changed_since(seen: Seen, resolved: Resolved) -> bool:
    """Whether the file was modified or deleted after the model read it."""
    now = look(resolved)
    if now is None or now.size != seen.size:
        return True
    if now.modified == seen.modified:
        return False
    # A checkout, a formatter or `touch` may write the same bytes again.
    with explain_file_errors():
        return seen.content != hash(read_resolved(resolved))


def read_text(resolved: Resolved) -> TextFile:
    """Read a text file."""
    with explain_file_errors():
        data = read_resolved(resolved)
    return TextFile.of(data)


def put(resolved: Resolved, data: bytes, desk: Desk, *, known: bool = True) -> None:
    """Write a file, after a checkpoint. With `known`, the model is taken to know all of its new content."""
    path = resolved.real or resolved.lexical
    desk.before_change(path)
    with explain_file_errors():
        write_resolved(resolved, data, make_folders=True)
    now = look(resolved)
    if now is not None and (known or path in desk.seen):
        desk.seen[path] = replace(now, whole=known, content=hash(data))
