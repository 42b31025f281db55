"""PDFs: whole documents, pages as pictures, and the errors of both."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from handrail.agent.tools.base import ToolFailed
from tests.agent.tools.workplace import call, desk_in

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
EMPTY = b"%PDF-1.4\n%%EOF"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    desk_in(tmp_path)
    return tmp_path / "project"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of programs, empty at first."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def install(programs: Path, name: str, script: str) -> None:
    (programs / name).write_text(f"#!/bin/sh\n{script}\n")
    (programs / name).chmod(0o755)


async def test_pdf_is_returned_as_a_document(tmp_path: Path, project: Path):
    desk = desk_in(tmp_path)
    (project / "x.pdf").write_bytes(EMPTY)
    outcome = await call(desk, "Read", file_path="x.pdf")
    assert isinstance(outcome.content, list)
    assert [block["type"] for block in outcome.content] == ["text", "document"]
    assert (outcome.detail["type"], outcome.detail["file"]["originalSize"]) == ("pdf", 14)
    (project / "y.pdf").write_bytes(b"none")
    with pytest.raises(ToolFailed, match="does not start with %PDF-"):
        await call(desk, "Read", file_path="y.pdf")


async def test_empty_range_means_the_whole_document(tmp_path: Path, project: Path):
    (project / "x.pdf").write_bytes(EMPTY)
    outcome = await call(desk_in(tmp_path), "Read", file_path="x.pdf", pages=" ")
    assert outcome.detail["type"] == "pdf"


@pytest.mark.parametrize("pages", ["0", "x", "5-2", "1,2", "1-30"])
async def test_bad_range_of_pages_is_an_error_that_says_how_to_write_it(tmp_path: Path, project: Path, pages: str):
    (project / "x.pdf").write_bytes(EMPTY)
    with pytest.raises(ToolFailed, match="range of pages|at most 20"):
        await call(desk_in(tmp_path), "Read", file_path="x.pdf", pages=pages)


async def test_long_pdf_is_shown_as_a_whole_without_pdfinfo(tmp_path: Path, project: Path, programs: Path):
    (project / "x.pdf").write_bytes(b"%PDF-1.4\n" + b"<</Type/Page/Parent 2 0 R>>\n" * 11 + b"%%EOF")
    assert (await call(desk_in(tmp_path), "Read", file_path="x.pdf")).detail["type"] == "pdf"


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        ("/bin/echo 'Pages:          12'", "has 12 pages"),
        ("/bin/echo 'Pages:          9'", ""),
        ("/bin/echo 'Command Line Error: Incorrect password' >&2; exit 1", ""),
    ],
)
async def test_pages_are_counted_by_pdfinfo(tmp_path: Path, project: Path, programs: Path, script: str, kind: str):
    install(programs, "pdfinfo", script)
    (project / "x.pdf").write_bytes(b"%PDF-1.5\n<</Type/ObjStm/N 40>>\n%%EOF")
    reading = call(desk_in(tmp_path), "Read", file_path="x.pdf")
    if kind:
        with pytest.raises(ToolFailed, match=kind):
            await reading
    else:
        assert (await reading).detail["type"] == "pdf"


async def test_large_pdf_is_shown_by_pages_only(tmp_path: Path, project: Path, programs: Path):
    pixel = tmp_path / "pixel.png"
    pixel.write_bytes(PIXEL)
    install(programs, "pdftoppm", f"/bin/cp {pixel} page-1.jpg")
    with (project / "x.pdf").open("wb") as file:
        file.write(EMPTY)
        file.truncate(40 * 1024 * 1024)
    desk = desk_in(tmp_path)
    with pytest.raises(ToolFailed, match="40MB; the limit is 20MB"):
        await call(desk, "Read", file_path="x.pdf")
    assert (await call(desk, "Read", file_path="x.pdf", pages="1")).detail["file"]["count"] == 1


async def test_pages_are_rendered_as_pictures(tmp_path: Path, project: Path, programs: Path):
    pixel, arguments = tmp_path / "pixel.png", tmp_path / "arguments"
    pixel.write_bytes(PIXEL)
    install(
        programs, "pdftoppm", f'/bin/echo "$@" > {arguments}; /bin/cp {pixel} page-2.jpg; /bin/cp {pixel} page-3.jpg'
    )
    desk = desk_in(tmp_path)
    (project / "x.pdf").write_bytes(EMPTY)
    outcome = await call(desk, "Read", file_path="x.pdf", pages="2-3")
    assert isinstance(outcome.content, list)
    assert [block["type"] for block in outcome.content] == ["text", "image", "image"]
    assert base64.b64decode(outcome.content[1]["source"]["data"]) == PIXEL
    assert "-f 2 -l 3" in arguments.read_text()
    (programs / "pdftoppm").unlink()
    with pytest.raises(ToolFailed, match="poppler-utils"):
        await call(desk, "Read", file_path="x.pdf", pages="2")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("/bin/echo 'Command Line Error: Incorrect password' >&2; exit 1", "protected by a password"),
        (
            "/bin/echo 'Wrong page range given: the first page (7) can not be after the last page (3).' >&2; exit 99",
            "ends at page 3; page 7 was asked for",
        ),
        ("/bin/echo 'Syntax Error: Could not read xref table' >&2; exit 1", "cannot be rendered: Syntax Error"),
        ("exit 0", "cannot be rendered: no page was written"),
        ("/bin/echo none > page-7.jpg", "Page 7 of x.pdf cannot be shown"),
    ],
)
async def test_page_that_cannot_be_rendered_is_an_error_with_the_reason(
    tmp_path: Path, project: Path, programs: Path, script: str, reason: str
):
    install(programs, "pdftoppm", script)
    (project / "x.pdf").write_bytes(EMPTY)
    with pytest.raises(ToolFailed, match=reason):
        await call(desk_in(tmp_path), "Read", file_path="x.pdf", pages="7")


async def test_renderer_that_cannot_be_started_is_an_error(tmp_path: Path, project: Path, programs: Path):
    (programs / "pdftoppm").write_text("#!/nowhere/sh\n")
    (programs / "pdftoppm").chmod(0o755)
    (project / "x.pdf").write_bytes(EMPTY)
    with pytest.raises(ToolFailed, match="pdftoppm cannot be started"):
        await call(desk_in(tmp_path), "Read", file_path="x.pdf", pages="1")
