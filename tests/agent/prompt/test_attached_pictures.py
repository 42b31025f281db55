"""handrail.agent.prompt.attached_pictures: pictures of prompts as files."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.script import Script, text
from handrail.agent.prompt.attached_pictures import MOST, attached_pictures
from tests.agent.stage import stage

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def image(data: str = base64.b64encode(PIXEL).decode()) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def paths_in(note: str) -> list[Path]:
    return [Path(path) for path in re.findall(r"/[^ ,\]]+", note)]


def test_images_are_saved_readable_only_by_the_user(tmp_path: Path):
    saved = paths_in(attached_pictures([{"type": "text", "text": "see"}, image(), image()], str(tmp_path / "new")))
    assert [path.read_bytes() for path in saved] == [PIXEL, PIXEL]
    assert {(path.suffix, path.stat().st_mode & 0o777) for path in saved} == {(".png", 0o600)}


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": "no picture"},
        image("not base64!"),
        image(base64.b64encode(b"no picture").decode()),
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
        {"type": "image", "source": None},
        {"type": "image", "source": {"type": "base64", "data": 3}},
    ],
)
def test_other_blocks_are_left_alone(tmp_path: Path, block: dict[str, Any]):
    assert attached_pictures([block], str(tmp_path / "new")) == ""
    assert not (tmp_path / "new").exists()


def test_limited_number_is_saved_and_unusable_folder_is_ignored(tmp_path: Path):
    assert len(paths_in(attached_pictures([image()] * (MOST + 5), str(tmp_path)))) == MOST
    (tmp_path / "file").write_text("")
    assert attached_pictures([image()], str(tmp_path / "file")) == ""


async def test_model_gets_the_path_of_the_image(tmp_path: Path):
    async with stage(tmp_path, Script.of(text("I see it."))) as host:
        await host.turn([{"type": "text", "text": "What is it?"}, image()])
        blocks = host.model.asked[0]["messages"][0]["content"]
        assert [block["type"] for block in blocks] == ["text", "image", "text"]
        saved = paths_in(blocks[2]["text"])[0]
        assert saved.read_bytes() == PIXEL
        assert saved.is_relative_to(host.engine.transcript.folder)
