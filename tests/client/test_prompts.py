"""Prompts in wire form."""

import base64
from pathlib import Path
from typing import Any

import pytest

from handrail.client.prompts import image_block, user_line
from handrail.schema.content import TextBlock

PNG = b"\x89PNG\r\n\x1a\n0000"
IMAGES = [
    (PNG, "image/png"),
    (b"\xff\xd8\xff\xe0 jpeg", "image/jpeg"),
    (b"GIF89a gif", "image/gif"),
    (b"RIFF\x0a\x00\x00\x00WEBPVP8 ", "image/webp"),
]


def block(data: bytes, media_type: str) -> dict[str, Any]:
    source = {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode()}
    return {"type": "image", "source": source}


def content(prompt: Any, *images: Any) -> Any:
    return user_line(prompt, images, "u")["message"]["content"]


def test_user_line_omits_none_fields():
    assert user_line("Hi", (), "u-1", priority="now", shouldQuery=None) == {
        "type": "user",
        "message": {"role": "user", "content": "Hi"},
        "parent_tool_use_id": None,
        "session_id": "",
        "uuid": "u-1",
        "priority": "now",
    }


def test_prompt_may_be_text_blocks_or_a_list():
    text = {"type": "text", "text": "a"}
    assert content("a") == "a"
    assert content(text) == [text]
    assert content(TextBlock(text="a")) == [text]
    assert content(["a", text, TextBlock(text="a")]) == [text, text, text]
    assert content(("a",)) == [text]


def test_images_follow_the_text():
    assert content("Look", PNG) == [{"type": "text", "text": "Look"}, block(PNG, "image/png")]


@pytest.mark.parametrize(("data", "media_type"), IMAGES)
def test_image_type_is_detected_from_its_bytes(data: bytes, media_type: str, tmp_path: Path):
    path = tmp_path / "picture.txt"
    path.write_bytes(data)
    assert image_block(data) == image_block(path) == image_block(str(path)) == block(data, media_type)


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7", b"RIFF\x0a\x00\x00\x00WAVEfmt ", b"<svg/>"])
def test_other_files_are_rejected_as_images(data: bytes, tmp_path: Path):
    path = tmp_path / "notes.png"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"notes\.png is not an image that the API accepts .*image/png"):
        image_block(path)
    with pytest.raises(ValueError, match=rf"{len(data)} bytes are not an image"):
        image_block(data)


def test_missing_image_is_named(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"gone\.png"):
        image_block(tmp_path / "gone.png")


@pytest.mark.parametrize("prompt", [None, 5, [5], [{"text": "a"}], {"text": "a"}, b"bytes"])
def test_invalid_prompt_is_rejected(prompt: Any):
    with pytest.raises(ValueError, match="text and blocks with a `type`"):
        content(prompt)
