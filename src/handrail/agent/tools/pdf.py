"""PDF documents for the model: the whole file as a document, or some pages as pictures.

Pages are rendered by `pdftoppm` of poppler-utils, if it is installed.
"""

from __future__ import annotations

import asyncio
import base64
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Final

from handrail.agent.blocks import text_block
from handrail.agent.run_program import Finished, ProgramFailed, run_program
from handrail.agent.tools.base import JsonObject, Outcome, ToolFailed
from handrail.agent.tools.large_output import readable_size
from handrail.agent.tools.scaled_picture import UnusablePicture, fit_picture, image_block

__all__ = ["MOST_READ", "read_pdf"]

MOST_READ: Final = 100 * 1024 * 1024
"""Bytes of a file of which pages are shown."""
MOST_BYTES: Final = 20 * 1024 * 1024
"""Bytes of a document that is shown as a whole."""
MOST_WHOLE: Final = 10
"""Pages of a document that is shown as a whole."""
MOST_PAGES: Final = 20
"""Pages of one call."""
_DOTS_PER_INCH: Final = 100
_TIME_LIMIT: Final = 60.0
_RANGE: Final = re.compile(r"\s*(\d{1,6})\s*(?:(-)\s*(\d{1,6})?)?\s*")
_COUNTED: Final = re.compile(rb"^Pages:\s+(\d{1,9})\s*$", re.MULTILINE)
_LAST_PAGE: Final = re.compile(r"last page \((\d+)\)")
_LONGEST_REASON: Final = 300


async def read_pdf(path: str, data: bytes, pages: str) -> Outcome:
    """The document, or these of its pages: "3", "1-5" or "3-" for those from the third on. "" for all of it."""
    if not data.startswith(b"%PDF-"):
        raise ToolFailed(f"{path} is named like a PDF, but does not start with %PDF-.")
    if pages:
        return await _pages(path, data, _range(pages))
    if len(data) > MOST_BYTES:
        raise ToolFailed(
            f"The PDF is too large: {readable_size(len(data))}; the limit is {readable_size(MOST_BYTES)}. Read some of"
            ' its pages with `pages`, such as "1-5".'
        )
    if (count := await _page_count(data)) > MOST_WHOLE:
        raise ToolFailed(
            f"The PDF has {count} pages; at most {MOST_WHOLE} are shown as a whole. Read some of them with `pages`,"
            f' such as "1-5", at most {MOST_PAGES} at a time.'
        )
    encoded = base64.b64encode(data).decode()
    source = {"type": "base64", "media_type": "application/pdf", "data": encoded}
    file = {"filePath": path, "base64": encoded, "originalSize": len(data)}
    shown = [text_block(f"The PDF {path} ({len(data):,} bytes):"), {"type": "document", "source": source}]
    return Outcome(shown, {"type": "pdf", "file": file})


def _range(pages: str) -> tuple[int, int]:
    found = _RANGE.fullmatch(pages)
    first = int(found[1]) if found else 0
    last = 0
    if found:
        last = first if not found[2] else int(found[3]) if found[3] else first + MOST_PAGES - 1
    if not 0 < first <= last:
        raise ToolFailed(
            f'{pages!r} is not a range of pages. Write it as "3", "1-5" or "3-"; pages begin at 1. Read several ranges'
            " with several calls."
        )
    if last - first >= MOST_PAGES:
        raise ToolFailed(f"{last - first + 1} pages were asked for; at most {MOST_PAGES} are read at a time.")
    return first, last


async def _page_count(data: bytes) -> int:
    """The number of pages; 0 if pdfinfo is not installed: pages cannot be shown then, and the API has a limit."""
    if not _program("pdfinfo"):
        return 0
    with tempfile.TemporaryDirectory(prefix="handrail-pdf-") as folder:
        ran = await _poppler(folder, data, "pdfinfo", "document.pdf")
    found = _COUNTED.search(ran.output)
    return int(found[1]) if found else 0


async def _pages(path: str, data: bytes, pages: tuple[int, int]) -> Outcome:
    first, last = pages
    if not _program("pdftoppm"):
        raise ToolFailed(
            "Pages of a PDF are rendered by pdftoppm, which is not installed. Install poppler-utils, or read the"
            " document as a whole, without `pages`."
        )
    arguments = ("-jpeg", "-r", str(_DOTS_PER_INCH), "-f", str(first), "-l", str(last), "document.pdf", "page")
    with tempfile.TemporaryDirectory(prefix="handrail-pdf-") as folder:
        ran = await _poppler(folder, data, "pdftoppm", *arguments)
        pictures = await asyncio.to_thread(_pictures, folder)
    if not pictures:
        raise ToolFailed(_why_none(path, first, ran.errors.decode("utf-8", "replace")))
    blocks: list[JsonObject] = [text_block(f"Pages {first} to {first + len(pictures) - 1} of the PDF {path}:")]
    for number, picture in enumerate(pictures, first):
        try:
            fitted = await fit_picture(picture)
        except UnusablePicture as reason:
            raise ToolFailed(f"Page {number} of {path} cannot be shown as an image. {reason}") from None
        blocks.append(image_block(fitted.shown.media_type, base64.b64encode(fitted.data).decode()))
    file = {"filePath": path, "originalSize": len(data), "count": len(pictures)}
    return Outcome(blocks, {"type": "parts", "file": file})


def _why_none(path: str, first: int, errors: str) -> str:
    if "Incorrect password" in errors:
        return f"{path} is protected by a password. Ask the user for a copy without one."
    if found := _LAST_PAGE.search(errors):
        return f"{path} ends at page {found[1]}; page {first} was asked for."
    reason = errors.strip().partition("\n")[0][:_LONGEST_REASON] or "no page was written"
    return f"Page {first} of {path} cannot be rendered: {reason}"


def _pictures(folder: str) -> list[bytes]:
    """The rendered pages in order: pdftoppm numbers them with leading zeros."""
    return [page.read_bytes() for page in sorted(Path(folder).glob("page*.jpg"))]


def _search_path() -> str:
    return os.environ.get("PATH", os.defpath)


def _program(name: str) -> str | None:
    return shutil.which(name, path=_search_path())


async def _poppler(folder: str, data: bytes, program: str, *arguments: str) -> Finished:
    """Run a program of poppler-utils in a folder in which the document is document.pdf."""
    await asyncio.to_thread(Path(folder, "document.pdf").write_bytes, data)
    environment = {"PATH": _search_path(), "LANG": "C.UTF-8"}
    try:
        return await run_program((program, *arguments), cwd=folder, environment=environment, time_limit=_TIME_LIMIT)
    except ProgramFailed as error:
        raise ToolFailed(f"{program} {error}. Read fewer pages.") from error
