"""The Read tool: shows text with line numbers, images, notebooks and PDFs to the model."""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

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
_UTF16_MARK: Final = b"\xff\xfe"
_BINARY: Final = frozenset(
    ".7z .a .aac .avi .bin .bmp .bz2 .class .dat .db .dll .dmg .doc .docx .dylib .eot .exe .flac .flv .gz .ico .iso"
    " .jar .lib .lz4 .m4a .m4v .mkv .mov .mp3 .mp4 .mpeg .mpg .o .obj .odp .ods .odt .ogg .otf .parquet .pdb .pkl .ppt"
    " .pptx .psd .pyc .pyo .rar .rlib .so .sqlite .sqlite3 .swf .tar .tgz .tif .tiff .ttf .wasm .wav .webm .wmv .woff"
    " .woff2 .xls .xlsx .xz .zip .zst".split()
)
"""Endings of files that are not shown as text."""
_NUL_NOTE: Final = (
    "\n\n[The file contains NUL bytes: it is binary or has another encoding. Edit and Write refuse it; use a command"
    " that keeps its format.]"
)


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
first.
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

    async def check(self, given: ReadInput, desk: Desk) -> None:
        """Fail before the user is asked if the name alone tells that it is a device. Other paths may be links."""
        resolved = desk.resolve(given.file_path)
        if resolved.lexical.startswith(("/dev/", "/proc/")) and (why := is_refused(resolved)):
            raise ToolFailed(f"{given.file_path} cannot be read: {why}.")

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
        if ending in _BINARY:
            return refused(
                f"This tool cannot read binary files. The file appears to be a binary {ending} file. Use a shell"
                " command or script that can read the format."
            ), False
        if is_binary(data) and not data.startswith(_UTF16_MARK):
            outcome, whole = _text(given, data.decode("utf-8", "replace"))
            return replace(outcome, content=f"{outcome.content}{_NUL_NOTE}"), whole
        return _text(given, as_shown(TextFile.of(data).text.replace("\r\n", "\n")))


def _bytes(resolved: Resolved, limit: int = READ_LIMIT) -> bytes:
    with explain_file_errors():
        return read_resolved(resolved, limit=limit)


def _text(given: ReadInput, text: str) -> tuple[Outcome, bool]:
    lines = text.split("\n")
    start = max(given.offset or 1, 1)
    limited = given.limit is not None and given.limit > 0
    end = start - 1 + (given.limit or 0) if limited else len(lines)
    chosen = lines[start - 1 : end]
    content = "\n".join(chosen)
    whole = len(chosen) == len(lines)
    size = len(content.encode())
    if size > _MAX_TEXT and not limited and not given.allow_large:  # the model chose the part that it needs
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
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(chosen, start))


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
    detail = {"type": "image", "file": file}
    return Outcome([image_block(picture.shown.media_type, encoded)], detail, follow_up=picture.note)


def _notebook(given: ReadInput, data: bytes) -> Outcome:
    notebook = parse_notebook(data)
    language = language_of(notebook)
    cells = [shown_cell(cell, at, language) for at, cell in enumerate(cells_of(notebook))]
    if (size := len(msgspec.json.encode(cells))) > _MAX_TEXT:
        raise ToolFailed(
            f"Notebook content ({readable_size(size)}) exceeds maximum allowed size ({readable_size(_MAX_TEXT)}). Read"
            " some of its cells with jq in Bash, such as `jq '.cells[:20]' NOTEBOOK`."
        )
    detail = {"type": "notebook", "file": {"filePath": given.file_path, "cells": cells}}
    return Outcome(shown_blocks(cells) or "The notebook is empty.", detail)
