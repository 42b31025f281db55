"""Results of tools as the model sees them: bounded, in text and images, with nothing fetched."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.mcp.content import LARGEST_PICTURE, MOST_BLOCKS, keep_in, malformed, save_large, shown
from tests.agent.mcp.servers import JsonObject


def nowhere(suffix: str, data: bytes) -> str:
    return ""


def test_m04_long_text_is_cut_and_saved_in_full(tmp_path: Path):
    result = {"content": [{"type": "text", "text": "é" * 3_000_000}]}
    told = shown(result, server="s", limit=1000, keep=keep_in(str(tmp_path), "s"))
    assert len(told.content[0]["text"]) < 1400
    (kept,) = tmp_path.iterdir()
    assert str(kept) in told.content[0]["text"]
    assert kept.read_text() == "é" * 3_000_000
    assert kept.stat().st_mode & 0o777 == 0o600


def test_m04_excess_blocks_and_huge_images_are_left_out():
    blocks: list[JsonObject] = [{"type": "text", "text": "x"}] * 10**6
    told = shown({"content": blocks}, server="s", limit=10**6, keep=nowhere)
    assert len(told.content) == MOST_BLOCKS + 1
    assert "999000 more blocks" in told.content[-1]["text"]
    picture = {"type": "image", "data": "A" * (LARGEST_PICTURE + 4), "mimeType": "image/png"}
    told = shown({"content": [picture]}, server="s", limit=1000, keep=nowhere)
    assert [block["type"] for block in told.content] == ["text"]


def test_long_text_is_saved_as_it_is_and_more_blocks_as_json(tmp_path: Path):
    keep = keep_in(str(tmp_path), "s")
    one = {"type": "text", "text": "line\n" * 3000}
    assert ".txt" in save_large({"content": [one]}, 9000, keep)
    assert ".json" in save_large({"content": [one, one]}, 9000, keep)
    [text] = tmp_path.glob("*.txt")
    assert text.read_text() == one["text"]


def test_m11_link_to_a_file_is_not_fetched(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    link = {"type": "resource_link", "uri": secret.as_uri(), "name": "s"}
    told = shown({"content": [link]}, server="s", limit=1000, keep=nowhere)
    assert told.content == [{"type": "text", "text": f"[Resource link: s] {secret.as_uri()}"}]


def test_image_is_converted_and_saved(tmp_path: Path):
    data = base64.b64encode(b"\x89PNG").decode()
    result = {"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}
    told = shown(result, server="s", limit=100, keep=keep_in(str(tmp_path), "s"))
    (kept,) = tmp_path.iterdir()
    assert told.content == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        {"type": "text", "text": f"[Image: source: {kept}]"},
    ]
    assert kept.read_bytes() == b"\x89PNG"
    assert os.path.basename(kept).startswith("mcp-s-")


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (
            {"type": "image", "data": "AAAA", "mimeType": "image/tiff"},
            "[picture of type image/tiff, 3 bytes, was left out]",
        ),
        ({"type": "image", "data": "!!", "mimeType": "image/png"}, "[a picture that is not base64 was left out]"),
        (
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            "[sound of type audio/wav, 3 bytes, was left out]",
        ),
        ({"type": "resource", "resource": {"uri": "a://b", "text": "t"}}, "[Resource from s at a://b] t"),
        ({"type": "new"}, "[a block of unknown kind 'new' was left out]"),
        ("text", "[a block of unknown kind '' was left out]"),
    ],
)
def test_other_blocks_become_text(block: Any, words: str):
    assert shown({"content": [block]}, server="s", limit=1000, keep=nowhere).content == [
        {"type": "text", "text": words}
    ]


def test_structured_content_replaces_texts():
    result = {"content": [{"type": "text", "text": "five"}], "structuredContent": {"sum": 5}}
    told = shown(result, server="s", limit=1000, keep=nowhere)
    assert told.content == [{"type": "text", "text": '{"sum":5}'}]
    assert told.detail == result


def test_large_result_is_saved_under_the_id_of_the_call(tmp_path: Path):
    block = {"type": "text", "text": "word " * 1000}
    told = save_large({"content": [block, block]}, 9000, keep_in(str(tmp_path), "s", call_id="toolu_1"))
    (kept,) = tmp_path.iterdir()
    assert kept.name == "toolu_1.json"
    assert json.loads(kept.read_text()) == [block, block]
    assert told.startswith("<persisted-output>\nOutput too large (9.9KB). Full output saved to: " + str(kept))
    assert save_large({"content": [block, block]}, 10_000, nowhere) == ""
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    assert save_large({"content": [block, block, image]}, 9000, keep_in(str(tmp_path), "s")) == ""
    outside = keep_in(str(tmp_path / "inner"), "s", call_id="../x")(".json", b"[]")
    assert os.path.dirname(outside) == str(tmp_path / "inner")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("plain", "not a list"),
        ([5], "content[0]"),
        ([{"type": "text", "text": "x"}, {"type": "weird"}], "'weird'"),
        ([{"type": "text", "text": 5}], "content[0].text"),
        ([{"type": "resource", "resource": "x"}], "content[0].resource"),
    ],
)
def test_a_malformed_result_is_explained(content: Any, words: str):
    assert words in malformed({"content": content})


@pytest.mark.parametrize("result", [{}, {"content": []}, {"content": [{"type": "text", "text": ""}]}])
def test_an_empty_result_is_well_formed(result: JsonObject):
    assert malformed(result) == ""
