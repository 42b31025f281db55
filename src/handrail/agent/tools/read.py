"""The Read tool: shows text with line numbers, images, notebooks and PDFs to the model."""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, Struct

from handrail.agent.blocks import text_block
from handrail.agent.tools.base import JsonObject, Outcome, Tool, ToolFailed, explain_file_errors, refused
from handrail.agent.tools.desk import Seen
from handrail.agent.tools.large_output import readable_size
from handrail.agent.tools.notebook import cells_of, language_of, parse_notebook, shown_blocks, shown_cell
from handrail.agent.tools.picture import ENDINGS
from handrail.agent.tools.scaled_picture import UnusablePicture, fit_picture, image_block
from handrail.agent.tools.text_file import TextFile, as_shown, is_binary, look, missing
from handrail.files.open import READ_LIMIT, read_resolved
from handrail.permissions.paths.matching import is_refused

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk
    from handrail.permissions.paths.matching import Resolved

__all__ = ["Read", "ReadInput"]

_MAX_TEXT: Final = 256 * 1024
_MAX_LINE: Final = 2000
_UTF16_MARK: Final = b"\xff\xfe"


class ReadInput(Struct, frozen=True):
    """A file, and the part of it to read."""

    file_path: Annotated[str, Meta(description="Absolute path of the file.")]
    offset: Annotated[int | None, Meta(description="The first line to read; lines are numbered from 1.")] = None
    limit: Annotated[int | None, Meta(description="Number of lines to read.")] = None
    pages: Annotated[str | None, Meta(description='Pages of a PDF: "3", "1-5" or "3-"; at most 20.')] = None
    allow_large: Annotated[bool, Meta(description="Read all of a large file, if really needed.")] = False


class Read(Tool[ReadInput]):
    """Shows a file to the model."""

    name = "Read"
    description = """\
Reads a file. Text is shown with line numbers; pictures (png, jpeg, gif, webp; large ones are scaled down) and PDF \
documents are shown as such; Jupyter notebooks with their cells and outputs.

- Give an absolute path. If the file is missing, the error suggests similar names.
- A text of up to 256 KB is shown as a whole. Of a longer one read parts with `offset` and `limit`, or search it \
first. \
Lines are cut at 2,000 characters.
- A PDF of up to 10 pages is shown as a whole; of a longer one read `pages`, at most 20 at a time.
- To list a folder use `ls` with Bash. A file that you have just read or changed need not be read again.
- Several files that you need at once: several calls in one message."""
    Input = ReadInput
    path_field = "file_path"
    kept_fields = frozenset({"limit"})
    concurrent = True

    def describe(self, given: ReadInput) -> str:
        return given.file_path.rpartition("/")[2]

    def shown(self, given: ReadInput, input: JsonObject) -> JsonObject:
        """The input without values that choose no part of the file."""
        fields = super().shown(given, input)
        unset = {"offset": (given.offset or 0) < 0, "limit": (given.limit or 0) <= 0, "pages": not given.pages}
        return {name: value for name, value in fields.items() if not unset.get(name)}

    async def run(self, given: ReadInput, desk: Desk) -> Outcome:
        resolved = desk.resolve(given.file_path)
        if resolved.kind == "missing":
            raise ToolFailed(missing(desk, resolved))
        if resolved.kind == "directory":
            raise ToolFailed(f"EISDIR: illegal operation on a directory, read '{given.file_path}'")
        if why := is_refused(resolved):
            raise ToolFailed(f"{given.file_path} cannot be read: {why}.")
        now = look(resolved)
        ending = os.path.splitext(given.file_path)[1].lower()
        if ending == ".pdf":
            from handrail.agent.tools.pdf import MOST_READ, read_pdf  # few sessions need it

            data, pages = _bytes(resolved, MOST_READ), (given.pages or "").strip()
            outcome, whole = await read_pdf(given.file_path, data, pages), not pages
        elif ending in ENDINGS:
            data = _bytes(resolved)
            outcome, whole = await _picture(given, data), True
        else:
            data = _bytes(resolved)
            outcome, whole = self._shown(given, data, ending)
        if now is not None and not outcome.is_error:
            desk.seen[resolved.real or ""] = Seen(now.modified, now.size, whole, hash(data))
        return outcome

    def _shown(self, given: ReadInput, data: bytes, ending: str) -> tuple[Outcome, bool]:
        """The outcome, and whether it contains the whole file."""
        if ending == ".ipynb":
            return _notebook(given, data), True
        if is_binary(data) and not data.startswith(_UTF16_MARK):
            return refused(
                f"This tool cannot read binary files. The file appears to be a binary {ending or 'file'}"
                f"{' file' if ending else ''}. Use a shell command or script that can read the format."
            ), False
        return _text(given, as_shown(TextFile.of(data).text.replace("\r\n", "\n")))


def _bytes(resolved: Resolved, limit: int = READ_LIMIT) -> bytes:
    with explain_file_errors():
        return read_resolved(resolved, limit=limit)


def _text(given: ReadInput, text: str) -> tuple[Outcome, bool]:
    lines = text.split("\n")
    start = max(given.offset or 1, 1)
    end = start - 1 + given.limit if given.limit and given.limit > 0 else len(lines)
    chosen = lines[start - 1 : end]
    content = "\n".join(chosen)
    whole = len(chosen) == len(lines)
    size = len(content.encode())
    if size > _MAX_TEXT and not given.allow_large:
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
    return "\n".join(f"{number}\t{_truncated(line)}" for number, line in enumerate(chosen, start))


def _truncated(line: str) -> str:
    if len(line) <= _MAX_LINE:
        return line
    return f"{line[:_MAX_LINE]}… [{len(line) - _MAX_LINE:,} more characters in this line]"


def _too_large(size: int) -> str:
    return (
        f"File content ({readable_size(size)}) exceeds maximum allowed size ({readable_size(_MAX_TEXT)}). "
        "Use offset and limit to read part of it, or search it for what you need. If you really need all of it, call "
        "Read again with allow_large: true."
    )


async def _picture(given: ReadInput, data: bytes) -> Outcome:
    try:
        picture = await fit_picture(data)
    except UnusablePicture as reason:
        raise ToolFailed(f"{given.file_path} cannot be shown as an image. {reason}") from None
    encoded = base64.b64encode(picture.data).decode()
    sizes = {"original": picture.original, "display": picture.shown}
    file = {
        "base64": encoded,
        "type": picture.shown.media_type,
        "originalSize": len(data),
        "dimensions": {
            f"{side}{name}": value
            for side, size in sizes.items()
            for name, value in (("Width", size.width), ("Height", size.height))
        },
    }
    note = [text_block(picture.note)] if picture.note else []
    return Outcome([image_block(picture.shown.media_type, encoded), *note], {"type": "image", "file": file})


def _notebook(given: ReadInput, data: bytes) -> Outcome:
    notebook = parse_notebook(data)
    language = language_of(notebook)
    cells = [shown_cell(cell, at, language) for at, cell in enumerate(cells_of(notebook))]
    detail = {"type": "notebook", "file": {"filePath": given.file_path, "cells": cells}}
    return Outcome(shown_blocks(cells) or "The notebook is empty.", detail)
