"""Read: a file. In: its path, and which lines. Out: text with line numbers, a picture, a notebook or a PDF."""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, Struct

from handrail.agent.desk import Seen
from handrail.agent.tools.base import Outcome, Tool, ToolFailed
from handrail.agent.tools.large_output import readable_size
from handrail.agent.tools.notebook import cells_of, language_of, parse_notebook, shown_blocks, shown_cell
from handrail.agent.tools.picture import ENDINGS, picture_of
from handrail.agent.tools.refusal import files_explained, refused
from handrail.agent.tools.text_file import TextFile, as_shown, is_binary, look, missing
from handrail.files.open import read_resolved
from handrail.permissions.paths import is_refused

if TYPE_CHECKING:
    from handrail.agent.desk import Desk

__all__ = ["Read", "ReadInput"]

_MOST_AT_ONCE: Final = 256 * 1024
_LARGEST_PICTURE: Final = 3_750_000  # 5 MB in base64, which is what the API takes
_LARGEST_PDF: Final = 20 * 1024 * 1024
_LONGEST_LINE: Final = 2000
_UTF16: Final = b"\xff\xfe"


class ReadInput(Struct, frozen=True):
    """Which file, and which part of it."""

    file_path: Annotated[str, Meta(description="Absolute path of the file.")]
    offset: Annotated[int | None, Meta(description="The line to begin with; the first is 1.")] = None
    limit: Annotated[int | None, Meta(description="How many lines to read.")] = None
    allow_large: Annotated[bool, Meta(description="Read a large file whole, where that is really needed.")] = False


class Read(Tool[ReadInput]):
    """Shows a file to the model."""

    name = "Read"
    description = (
        "Reads a file: text with numbered lines, pictures (png, jpeg, gif, webp), Jupyter notebooks with outputs, "
        "PDF documents. Give offset and limit for a part of a long text. Folders are listed with Bash, not read."
    )
    Input = ReadInput
    concurrent = True

    def describe(self, given: ReadInput) -> str:
        return given.file_path.rpartition("/")[2]

    async def run(self, given: ReadInput, desk: Desk) -> Outcome:
        resolved = desk.resolve(given.file_path)
        if resolved.kind == "missing":
            raise ToolFailed(missing(desk, resolved))
        if resolved.kind == "directory":
            raise ToolFailed(f"EISDIR: illegal operation on a directory, read '{given.file_path}'")
        if why := is_refused(resolved):
            raise ToolFailed(f"{given.file_path} cannot be read: {why}.")
        now = look(resolved)
        with files_explained():
            data = read_resolved(resolved)
        outcome, whole = self._shown(given, data)
        if now is not None and not outcome.is_error:
            desk.seen[resolved.real or ""] = Seen(now.modified, now.size, whole)
        return outcome

    def _shown(self, given: ReadInput, data: bytes) -> tuple[Outcome, bool]:
        """The outcome, and whether it shows all of the file."""
        ending = os.path.splitext(given.file_path)[1].lower()
        if ending in ENDINGS:
            return _picture(given, data), True
        if ending == ".pdf":
            return _pdf(given, data), True
        if ending == ".ipynb":
            return _notebook(given, data), True
        if is_binary(data) and not data.startswith(_UTF16):
            return refused(
                f"This tool cannot read binary files. The file appears to be a binary {ending or 'file'}"
                f"{' file' if ending else ''}. Use a shell command or script that can read the format."
            ), False
        return _text(given, as_shown(TextFile.of(data).text.replace("\r\n", "\n")))


def _text(given: ReadInput, text: str) -> tuple[Outcome, bool]:
    lines = text.split("\n")
    start = max(given.offset or 1, 1)
    end = len(lines) if given.limit is None else start - 1 + max(given.limit, 0)
    chosen = lines[start - 1 : end]
    content = "\n".join(chosen)
    whole = len(chosen) == len(lines)
    size = len(content.encode())
    if size > _MOST_AT_ONCE and not given.allow_large:
        raise ToolFailed(_too_large(size))
    file = {
        "filePath": given.file_path,
        "content": content,
        "numLines": len(chosen),
        "startLine": start,
        "totalLines": len(lines),
    }
    return Outcome(_for_model(text, chosen, start, len(lines)), {"type": "text", "file": file}), whole


def _for_model(text: str, chosen: list[str], start: int, total: int) -> str:
    if not text:
        return "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>"
    if not chosen:
        return (
            "<system-reminder>Warning: the file exists but is shorter than the provided offset "
            f"({start}). The file has {total} lines.</system-reminder>"
        )
    return "\n".join(f"{number}\t{_cut(line)}" for number, line in enumerate(chosen, start))


def _cut(line: str) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    return f"{line[:_LONGEST_LINE]}… [{len(line) - _LONGEST_LINE:,} more characters in this line]"


def _too_large(size: int) -> str:
    return (
        f"File content ({readable_size(size)}) exceeds maximum allowed size ({readable_size(_MOST_AT_ONCE)}). "
        "Use offset and limit to read a part of it, or search it for what you need. If all of it is really needed, "
        "call Read again with allow_large: true."
    )


def _picture(given: ReadInput, data: bytes) -> Outcome:
    found = picture_of(data)
    if found is None:
        raise ToolFailed(f"{given.file_path} has the name of a picture, but is no whole png, jpeg, gif or webp.")
    if len(data) > _LARGEST_PICTURE:
        most = readable_size(_LARGEST_PICTURE)
        raise ToolFailed(f"The picture has {readable_size(len(data))}; at most {most} can be shown. Make it smaller.")
    encoded = base64.b64encode(data).decode()
    source = {"type": "base64", "data": encoded, "media_type": found.media_type}
    size = {"Width": found.width, "Height": found.height}
    file = {
        "base64": encoded,
        "type": found.media_type,
        "originalSize": len(data),
        "dimensions": {f"{side}{name}": value for side in ("original", "display") for name, value in size.items()},
    }
    return Outcome([{"type": "image", "source": source}], {"type": "image", "file": file})


def _pdf(given: ReadInput, data: bytes) -> Outcome:
    if not data.startswith(b"%PDF-"):
        raise ToolFailed(f"{given.file_path} has the name of a PDF, but does not begin as one.")
    if len(data) > _LARGEST_PDF:
        most = readable_size(_LARGEST_PDF)
        raise ToolFailed(f"The PDF has {readable_size(len(data))}, and at most {most} can be read. Split it first.")
    encoded = base64.b64encode(data).decode()
    source = {"type": "base64", "media_type": "application/pdf", "data": encoded}
    file = {"filePath": given.file_path, "base64": encoded, "originalSize": len(data)}
    return Outcome([{"type": "document", "source": source}], {"type": "pdf", "file": file})


def _notebook(given: ReadInput, data: bytes) -> Outcome:
    notebook = parse_notebook(data)
    language = language_of(notebook)
    cells = [shown_cell(cell, at, language) for at, cell in enumerate(cells_of(notebook))]
    detail = {"type": "notebook", "file": {"filePath": given.file_path, "cells": cells}}
    return Outcome(shown_blocks(cells) or "The notebook has no cells.", detail)
