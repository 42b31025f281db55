"""PDF documents for the model: the whole file as a document, or some pages as pictures.

Pages are rendered by `pdftoppm` of poppler-utils, if it is installed.
"""

from __future__ import annotations

import asyncio
import base64
import os
import re
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from handrail.agent.blocks import text_block
from handrail.agent.tools.base import JsonObject, Outcome, ToolFailed
from handrail.agent.tools.large_output import readable_size

__all__ = ["read_pdf"]

MOST_BYTES: Final = 20 * 1024 * 1024
MOST_WHOLE: Final = 10
"""Pages of a document that is shown as a whole."""
MOST_PAGES: Final = 20
"""Pages of one call."""
_DOTS_PER_INCH: Final = 100
_TIME_LIMIT: Final = 60.0
_RANGE: Final = re.compile(r"\s*(\d{1,6})\s*(?:(-)\s*(\d{1,6})?)?\s*")
_PAGE: Final = re.compile(rb"/Type\s*/Page(?![A-Za-z])")


async def read_pdf(path: str, data: bytes, pages: str | None) -> Outcome:
    """The document, or these of its pages: "3", "1-5" or "3-" for those from the third on."""
    if not data.startswith(b"%PDF-"):
        raise ToolFailed(f"{path} is named like a PDF, but does not start with %PDF-.")
    if pages is not None:
        return await _pages(path, data, _range(pages))
    if len(data) > MOST_BYTES:
        raise ToolFailed(
            f"The PDF is too large: {readable_size(len(data))}; the limit is {readable_size(MOST_BYTES)}. Read some of"
            ' its pages with `pages`, such as "1-5".'
        )
    # Pages in compressed objects are not counted; the API limits those itself.
    if (count := len(_PAGE.findall(data))) > MOST_WHOLE:
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
        raise ToolFailed(f'{pages!r} is not a range of pages. Write it as "3", "1-5" or "3-"; pages begin at 1.')
    if last - first >= MOST_PAGES:
        raise ToolFailed(f"{last - first + 1} pages were asked for; at most {MOST_PAGES} are read at a time.")
    return first, last


async def _pages(path: str, data: bytes, pages: tuple[int, int]) -> Outcome:
    first, last = pages
    with tempfile.TemporaryDirectory(prefix="handrail-pdf-") as name:
        folder = Path(name)
        await asyncio.to_thread((folder / "document.pdf").write_bytes, data)
        await _render(folder, first, last)
        pictures = await asyncio.to_thread(lambda: [page.read_bytes() for page in sorted(folder.glob("page*.jpg"))])
    if not pictures:
        raise ToolFailed(f"{path} lacks page {first}, or it cannot be rendered.")
    blocks: list[JsonObject] = [text_block(f"Pages {first} to {first + len(pictures) - 1} of the PDF {path}:")]
    for picture in pictures:
        source = {"type": "base64", "media_type": "image/jpeg", "data": base64.b64encode(picture).decode()}
        blocks.append({"type": "image", "source": source})
    file = {"filePath": path, "originalSize": len(data), "count": len(pictures)}
    return Outcome(blocks, {"type": "parts", "file": file})


async def _render(folder: Path, first: int, last: int) -> None:
    arguments = ("-jpeg", "-r", str(_DOTS_PER_INCH), "-f", str(first), "-l", str(last), "document.pdf", "page")
    try:
        process = await asyncio.create_subprocess_exec(
            *("pdftoppm", *arguments),
            cwd=folder,
            env={"PATH": os.environ.get("PATH", os.defpath)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except FileNotFoundError:
        raise ToolFailed(
            "Pages of a PDF are rendered by pdftoppm, which is not installed. Install poppler-utils, or read the"
            " document as a whole, without `pages`."
        ) from None
    try:
        async with asyncio.timeout(_TIME_LIMIT):
            await process.wait()
    except TimeoutError:
        raise ToolFailed(f"The pages were not rendered within {_TIME_LIMIT:.0f} seconds. Read fewer pages.") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
