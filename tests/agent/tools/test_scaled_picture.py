"""Pictures that are too large for the model are scaled down."""

from __future__ import annotations

import base64
import json
import os
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from handrail.agent.models.script import Script, text, tool_use
from handrail.agent.tools.scaled_picture import (
    API_BYTES,
    MOST_BYTES,
    UnusablePicture,
    fit_blocks,
    fit_picture,
    image_block,
)
from tests.agent.stage import stage
from tests.agent.tools.workplace import call, desk_in


def encoded(image: Image.Image, format: str, **options: Any) -> bytes:
    out = BytesIO()
    image.save(out, format, **options)
    return out.getvalue()


def flat(width: int, height: int, mode: str = "RGB") -> Image.Image:
    return Image.new(mode, (width, height), 7 if mode in ("L", "P") else (200, 30, 30, 90)[: len(mode)])


def noise(width: int, height: int, mode: str = "RGB") -> Image.Image:
    return Image.frombytes(mode, (width, height), os.urandom(width * height * len(mode)))


def block_of(data: bytes, media_type: str = "image/png") -> dict[str, Any]:
    return image_block(media_type, base64.b64encode(data).decode())


def opened(data: bytes) -> Image.Image:
    return Image.open(BytesIO(data))


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        ((1900, 1900), (1900, 1900)),
        ((2000, 1000), (2000, 1000)),
        ((2000, 2000), (1932, 1932)),
        ((1950, 1930), (1932, 1912)),
        ((1000, 3000), (667, 2000)),
        ((9000, 1), (2000, 1)),
    ],
)
async def test_size_is_that_of_the_cli(size: tuple[int, int], shown: tuple[int, int]):
    data = encoded(flat(*size), "PNG")
    found = await fit_picture(data)
    assert (found.shown.width, found.shown.height) == opened(found.data).size == shown
    assert (found.original.width, found.original.height) == size
    assert (found.data is data) == (size == shown)


@pytest.mark.parametrize(
    ("image", "format", "becomes"),
    [
        (flat(2500, 2500), "PNG", "PNG"),
        (flat(2500, 2500, "RGBA"), "PNG", "PNG"),
        (flat(2500, 2500), "WEBP", "WEBP"),
        (flat(2500, 2500), "JPEG", "JPEG"),
        (flat(2500, 2500, "P"), "GIF", "JPEG"),
        (noise(600, 600), "PNG", "JPEG"),
        (noise(500, 500, "RGBA"), "PNG", "JPEG"),
    ],
)
async def test_format_stays_unless_it_needs_too_many_bytes(image: Image.Image, format: str, becomes: str):
    found = await fit_picture(encoded(image, format))
    after = opened(found.data)
    assert (after.format, found.shown.media_type) == (becomes, f"image/{becomes.lower()}")
    assert len(found.data) <= MOST_BYTES


async def test_transparency_is_kept():
    found = await fit_picture(encoded(flat(2500, 10, "RGBA"), "PNG"))
    assert opened(found.data).getchannel("A").getextrema() == (90, 90)


async def test_picture_that_compresses_badly_is_within_the_limit_of_the_api():
    found = await fit_picture(encoded(noise(1900, 1900), "PNG"))
    assert len(found.data) < API_BYTES


async def test_orientation_of_a_photo_is_applied():
    exif = Image.Exif()
    exif[0x0112] = 6
    found = await fit_picture(encoded(flat(3000, 1500), "JPEG", exif=exif))
    assert opened(found.data).size == (1000, 2000)
    assert found.original[1:] == (1500, 3000)


async def test_picture_with_too_many_pixels_is_not_decoded():
    header = encoded(flat(1, 1), "PNG")
    bomb = header[:16] + (60_000).to_bytes(4, "big") * 2 + header[24:]
    with pytest.raises(UnusablePicture, match="60000x60000 pixels, too many to scale"):
        await fit_picture(bomb)


@pytest.mark.parametrize("data", [b"", b"hello", b"\x89PNG\r\n\x1a\n"])
async def test_other_data_is_refused(data: bytes):
    with pytest.raises(UnusablePicture, match="not a complete png"):
        await fit_picture(data)


async def test_damaged_picture_that_needs_scaling_is_refused():
    with pytest.raises(UnusablePicture, match="damaged"):
        await fit_picture(encoded(noise(2500, 100), "PNG")[:1000])


async def test_images_within_api_limits_are_sent_without_pillow(monkeypatch: pytest.MonkeyPatch):
    data = encoded(flat(3000, 3000), "PNG")
    too_large = (encoded(flat(8001, 10), "PNG"), encoded(noise(1200, 1200), "PNG"))
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert (await fit_picture(data)).data is data
    for large in too_large:
        with pytest.raises(UnusablePicture, match=r"too large: .* install Pillow"):
            await fit_picture(large)


async def test_blocks_are_fitted_one_by_one():
    small, large = block_of(encoded(flat(9, 9), "PNG")), block_of(encoded(flat(4000, 500), "PNG"))
    linked = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    words = {"type": "text", "text": "look"}
    first, second, shown, note, third = await fit_blocks([words, small, large, linked])
    assert (first, second, third) == (words, small, linked)
    assert opened(base64.b64decode(shown["source"]["data"])).size == (2000, 250)
    assert "Multiply coordinates by 2.00" in note["text"]


@pytest.mark.parametrize("data", ["%%%", "", "aGVsbG8=", None])
async def test_unusable_block_becomes_a_note(data: Any):
    (note,) = await fit_blocks(
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}]
    )
    assert note["text"].startswith("[A picture was left out. It")


async def test_wrong_media_type_is_corrected():
    (block,) = await fit_blocks([block_of(encoded(flat(9, 9), "PNG"), "image/jpeg")])
    assert block["source"]["media_type"] == "image/png"


async def test_read_shows_a_scaled_picture(tmp_path: Path):
    desk = desk_in(tmp_path)
    path = tmp_path / "project" / "a.png"
    path.write_bytes(encoded(flat(3000, 1000), "PNG"))
    outcome = await call(desk, "Read", file_path=str(path))
    file = outcome.detail["file"]
    assert file["base64"] == outcome.content[0]["source"]["data"]
    assert file["dimensions"] == {
        "originalWidth": 3000,
        "originalHeight": 1000,
        "displayWidth": 2000,
        "displayHeight": 667,
    }
    assert "3000x1000" in outcome.follow_up


async def test_pictures_of_prompts_and_notebooks_are_scaled(tmp_path: Path):
    data = base64.b64encode(encoded(flat(3000, 1000), "PNG")).decode()
    output = {"output_type": "display_data", "data": {"image/png": data}}
    cell = {"cell_type": "code", "source": "", "metadata": {}, "outputs": [output]}
    (tmp_path / "project").mkdir()
    notebook = tmp_path / "project" / "n.ipynb"
    notebook.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    script = Script.of(tool_use("Read", file_path=str(notebook)), text("ok"))
    async with stage(tmp_path, script) as host:
        await host.turn([{"type": "text", "text": "see"}, image_block("image/png", data)])
        prompt, _, result = host.model.asked[-1]["messages"]
    result = next(block for block in result["content"] if block["type"] == "tool_result")
    for blocks in (prompt["content"], result["content"]):
        (picture,) = (block for block in blocks if block["type"] == "image")
        assert opened(base64.b64decode(picture["source"]["data"])).size == (2000, 667)
