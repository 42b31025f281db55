"""Tool results in wire form."""

import base64
import dataclasses
from typing import Any

import msgspec
import pytest

from handrail.client.mcp_results import (
    ToolResult,
    audio_content,
    embedded_resource,
    image_content,
    resource_link,
    result_of,
    text_content,
)


class Point(msgspec.Struct):
    x: int


@dataclasses.dataclass
class Size:
    width: int


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (None, {"content": []}),
        ("hello", {"content": [text("hello")]}),
        ("", {"content": [text("")]}),
        ("half \ud83d pair", {"content": [text("half ? pair")]}),
        (5, {"content": [text("5")]}),
        (True, {"content": [text("true")]}),
        ([1, "two"], {"content": [text('[1,"two"]')]}),
        ({"a": None}, {"content": [text('{"a":null}')], "structuredContent": {"a": None}}),
        (Point(1), {"content": [text('{"x":1}')], "structuredContent": {"x": 1}}),
        (Size(2), {"content": [text('{"width":2}')], "structuredContent": {"width": 2}}),
        (text_content("block"), {"content": [text("block")]}),
        (["a", text_content("b")], {"content": [text("a"), text("b")]}),
    ],
)
def test_a_return_value_becomes_content(value: object, result: dict[str, Any]):
    assert result_of(value) == result


def test_tool_result_is_used_unchanged():
    block = {"type": "text", "text": "raw", "annotations": {"audience": ["user"]}}
    whole = ToolResult(content=["plain", block], structured={"n": 1}, is_error=True, meta={"k": "v"})
    assert result_of(whole) == {
        "content": [text("plain"), block],
        "structuredContent": {"n": 1},
        "isError": True,
        "_meta": {"k": "v"},
    }


def test_images_audio_and_resources_are_blocks():
    data = base64.b64encode(b"\x00\xff").decode()
    blocks = [
        image_content(b"\x00\xff", "image/png"),
        audio_content(b"\x00\xff", "audio/wav"),
        resource_link("file:///a.txt", "a.txt", media_type="text/plain"),
        embedded_resource("note://1", "text"),
        embedded_resource("note://2", b"\x00\xff", media_type="image/png"),
    ]
    assert result_of(blocks)["content"] == [
        {"type": "image", "data": data, "mimeType": "image/png"},
        {"type": "audio", "data": data, "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "file:///a.txt", "name": "a.txt", "mimeType": "text/plain"},
        {"type": "resource", "resource": {"uri": "note://1", "text": "text"}},
        {"type": "resource", "resource": {"uri": "note://2", "mimeType": "image/png", "blob": data}},
    ]


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (b"png", "wrap them in image_content"),
        (object(), "a object that cannot be written as JSON"),
        ({"name": "\ud83d"}, "cannot be written as JSON"),
        (ToolResult(content=[{"type": "text", "text": "\ud83d"}]), "cannot be written as JSON"),
        ([text_content("a"), 5], "a int as content"),
    ],
)
def test_unencodable_value_is_rejected_with_advice(value: object, complaint: str):
    with pytest.raises(TypeError, match=complaint):
        result_of(value)
