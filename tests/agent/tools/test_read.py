"""The Read tool."""

import base64
import json
import os
import struct
from pathlib import Path

import pytest

from handrail.agent.tools.base import ToolFailed
from tests.agent.tools.workplace import call, desk_in

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def test_lines_are_numbered_including_the_empty_last_one(tmp_path: Path):
    desk = desk_in(tmp_path)
    path = tmp_path / "project" / "w.txt"
    path.write_text("Hello\nWorld\n")
    outcome = await call(desk, "Read", file_path=str(path))
    assert outcome.content == "1\tHello\n2\tWorld\n3\t"
    file = {"filePath": str(path), "content": "Hello\nWorld\n", "numLines": 3, "startLine": 1, "totalLines": 3}
    assert outcome.detail == {"type": "text", "file": file}
    assert desk.seen[str(path)].whole


async def test_part_of_a_file_keeps_its_line_numbers(tmp_path: Path):
    desk = desk_in(tmp_path)
    path = tmp_path / "project" / "many"
    path.write_text("".join(f"row {number}\n" for number in range(3000)))
    outcome = await call(desk, "Read", file_path="many", offset=10, limit=3)
    assert outcome.content == "10\trow 9\n11\trow 10\n12\trow 11"
    assert (outcome.detail["file"]["numLines"], outcome.detail["file"]["totalLines"]) == (3, 3001)
    assert not desk.seen[str(path)].whole


async def test_empty_file_and_offset_past_the_end_are_reported(tmp_path: Path):
    desk = desk_in(tmp_path)
    (tmp_path / "project" / "empty").touch()
    (tmp_path / "project" / "short").write_text("a")
    assert "contents are empty" in (await call(desk, "Read", file_path="empty")).content
    assert "shorter than the provided offset (9)" in (await call(desk, "Read", file_path="short", offset=9)).content


async def test_long_line_is_shown_as_a_whole(tmp_path: Path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "long").write_text("a" * 5000)
    outcome = await call(desk_in(tmp_path), "Read", file_path="long")
    assert outcome.content == f"1\t{'a' * 5000}"


async def test_chosen_lines_may_be_longer_than_a_whole_file(tmp_path: Path):
    desk = desk_in(tmp_path)
    (tmp_path / "project" / "long").write_text(f"{'a' * 300_000}\n" * 2)
    assert len((await call(desk, "Read", file_path="long", offset=2, limit=1)).content) == 300_002
    with pytest.raises(ToolFailed, match="exceeds maximum"):
        await call(desk, "Read", file_path="long", offset=2)


async def test_text_with_nul_bytes_is_shown_with_a_note(tmp_path: Path):
    desk = desk_in(tmp_path)
    for name in ("blob", "x.txt"):
        (tmp_path / "project" / name).write_bytes(b"a\x00b\xff\n")
        outcome = await call(desk, "Read", file_path=name)
        assert outcome.content.startswith("1\ta\x00b\ufffd\n2\t\n\n[The file contains NUL bytes")
        with pytest.raises(ToolFailed, match="NUL bytes"):
            await call(desk, "Write", file_path=name, content="x")


async def test_large_notebook_is_refused_and_long_outputs_are_left_out(tmp_path: Path):
    def notebook(source: str, *texts: str) -> str:
        outputs = [{"output_type": "stream", "name": "stdout", "text": text} for text in texts]
        cell = {"cell_type": "code", "id": "c", "metadata": {}, "source": source, "outputs": outputs}
        return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})

    desk = desk_in(tmp_path)
    path = tmp_path / "project" / "n.ipynb"
    path.write_text(notebook("x" * 300_000))
    with pytest.raises(ToolFailed, match="Notebook content"):
        await call(desk, "Read", file_path="n.ipynb")
    path.write_text(notebook("p", "y" * 6000, "z" * 6000))
    [block] = (await call(desk, "Read", file_path="n.ipynb")).content
    assert ".cells[0].outputs" in block["text"]
    assert "yy" not in block["text"]


async def test_crlf_and_byte_order_mark_are_not_shown(tmp_path: Path):
    desk = desk_in(tmp_path)
    (tmp_path / "project" / "dos").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    assert (await call(desk, "Read", file_path="dos")).content == "1\ta\n2\tb\n3\t"
    (tmp_path / "project" / "wide").write_bytes("\ufeffa\r\nü".encode("utf-16-le"))
    assert (await call(desk, "Read", file_path="wide")).content == "1\ta\n2\tü"


async def test_invalid_utf8_is_shown_as_replacement_characters(tmp_path: Path):
    desk = desk_in(tmp_path)
    (tmp_path / "project" / "latin").write_bytes(b"caf\xe9")
    assert (await call(desk, "Read", file_path="latin")).content == "1\tcaf\ufffd"


async def test_missing_file_suggests_a_similar_name(tmp_path: Path):
    desk = desk_in(tmp_path)
    (tmp_path / "project" / "w.txt").touch()
    with pytest.raises(ToolFailed) as error:
        await call(desk, "Read", file_path="w.tx")
    assert str(error.value) == (
        f"File does not exist. Note: your current working directory is {desk.cwd}. Did you mean w.txt?"
    )
    with pytest.raises(ToolFailed, match=r"File does not exist\. Note: .*\.$"):
        await call(desk, "Read", file_path="nothing-like-it")


async def test_folders_pipes_devices_and_binaries_are_refused_f12(tmp_path: Path):
    desk = desk_in(tmp_path)
    os.mkfifo(tmp_path / "project" / "pipe")
    (tmp_path / "project" / "x.dat").write_bytes(bytes(range(256)))
    for path, words in ((".", "EISDIR"), ("pipe", "pipe"), ("/dev/zero", "device"), ("/proc/self/environ", "/proc")):
        with pytest.raises(ToolFailed, match=words):
            await call(desk, "Read", file_path=path)
    outcome = await call(desk, "Read", file_path="x.dat")
    assert outcome.is_error
    assert "binary .dat file" in outcome.detail
    assert not desk.seen


async def test_large_text_needs_a_limit_or_allow_large(tmp_path: Path):
    desk = desk_in(tmp_path)
    (tmp_path / "project" / "huge").write_text(("y" * 79 + "\n") * 5000)
    with pytest.raises(ToolFailed, match=r"390\.6KB\) exceeds maximum allowed size \(256KB\)"):
        await call(desk, "Read", file_path="huge")
    assert (await call(desk, "Read", file_path="huge", limit=2)).detail["file"]["numLines"] == 2
    assert (await call(desk, "Read", file_path="huge", allow_large=True)).detail["file"]["numLines"] == 5001


async def test_image_is_returned_with_its_size(tmp_path: Path):
    desk = desk_in(tmp_path)
    (tmp_path / "project" / "i.png").write_bytes(PIXEL)
    outcome = await call(desk, "Read", file_path="i.png")
    encoded = base64.b64encode(PIXEL).decode()
    source = {"type": "base64", "data": encoded, "media_type": "image/png"}
    assert outcome.content == [{"type": "image", "source": source}]
    sizes = {"originalWidth": 1, "originalHeight": 1, "displayWidth": 1, "displayHeight": 1}
    file = {"base64": encoded, "type": "image/png", "originalSize": 70, "dimensions": sizes}
    assert outcome.detail == {"type": "image", "file": file}


async def test_image_type_is_detected_from_content(tmp_path: Path):
    desk = desk_in(tmp_path)
    (tmp_path / "project" / "i.png").write_bytes(b"GIF89a" + struct.pack("<HH", 3, 4) + b"\0" * 8)
    file = (await call(desk, "Read", file_path="i.png")).detail["file"]
    assert (file["type"], file["dimensions"]["originalWidth"]) == ("image/gif", 3)
    (tmp_path / "project" / "no.jpg").write_text("no picture")
    with pytest.raises(ToolFailed, match="not a complete png"):
        await call(desk, "Read", file_path="no.jpg")


async def test_notebook_cells_are_shown_with_outputs(tmp_path: Path):
    desk = desk_in(tmp_path)
    picture = {"output_type": "display_data", "data": {"image/png": "QUJD\n", "text/plain": "<Figure>"}}
    stream = {"output_type": "stream", "name": "stdout", "text": ["1\n", "2\n"]}
    code = {"cell_type": "code", "id": "c1", "source": ["a\n", "b"], "outputs": [stream], "execution_count": 3}
    drawn = {"cell_type": "code", "source": "draw()", "outputs": [picture]}
    words = {"cell_type": "markdown", "id": "m1", "source": "# T"}
    notebook = {"cells": [code, words, drawn], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    (tmp_path / "project" / "n.ipynb").write_text(json.dumps(notebook))
    outcome = await call(desk, "Read", file_path="n.ipynb")
    assert outcome.content == [
        {
            "text": '<cell id="c1">a\nb</cell id="c1">\n\n1\n2\n\n<cell id="m1"><cell_type>markdown</cell_type># T'
            '</cell id="m1">\n<cell id="cell-2">draw()</cell id="cell-2">\n\n<Figure>',
            "type": "text",
        },
        {"type": "image", "source": {"type": "base64", "data": "QUJD", "media_type": "image/png"}},
    ]
    assert outcome.detail["file"]["cells"][0] == {
        "cellType": "code",
        "source": "a\nb",
        "execution_count": 3,
        "cell_id": "c1",
        "language": "python",
        "outputs": [{"output_type": "stream", "text": "1\n2\n"}],
    }


@pytest.mark.parametrize("text", ["{", "[]", '{"cells": 3}', '{"cells": [3]}', "[" * 100_000])
async def test_invalid_notebook_is_rejected(tmp_path: Path, text: str):
    desk = desk_in(tmp_path)
    (tmp_path / "project" / "n.ipynb").write_text(text)
    with pytest.raises(ToolFailed, match="notebook"):
        await call(desk, "Read", file_path="n.ipynb")
