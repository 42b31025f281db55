"""Properties of views for any JSON: no call raises, and no field is lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.schema.content import BLOCKS, ToolResultBlock, read_blocks
from handrail.schema.control import ANSWERS, REQUESTS, read_answer, read_request
from handrail.schema.hooks import HOOK_INPUTS, read_hook_input
from handrail.schema.messages import MESSAGES, AssistantMessage, UserMessage, read_message
from handrail.schema.permission_types import read_suggestions
from handrail.schema.stream_events import StreamEvent
from handrail.schema.tool_results import TOOL_RESULTS, read_tool_result
from handrail.schema.view import View, as_builtins, as_json, read_json

pytestmark = pytest.mark.slow

TEXT = st.text(st.characters(), max_size=5)
"""Lone surrogates are among them: JSON can write them."""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def names_of(cls: type[msgspec.Struct]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(cls)]


PART_NAMES = ("type", "content", "id", "text", "message", "role", "index", "delta", "tool_use_id", "name", "input")
LIKELY = st.recursive(
    JSON, lambda inner: st.dictionaries(st.sampled_from(PART_NAMES), inner, max_size=4) | st.lists(inner, max_size=3)
)
"""Values that are often nearly right."""


@st.composite
def rows(draw: st.DrawFn, table: Mapping[str, type[msgspec.Struct]]) -> tuple[str, dict[str, Any]]:
    key = draw(st.sampled_from(sorted(table)) | TEXT)
    known = st.sampled_from(names_of(table[key]) or [""]) if key in table else TEXT
    return key, draw(st.dictionaries(known | TEXT, LIKELY, max_size=5))


def encode(value: Any) -> bytes:
    return json.dumps(value).encode()


def holds(view: View, raw: bytes) -> None:
    """A view gives back what it was read from, and can be written."""
    assert view.raw == raw
    assert as_builtins(view) == read_json(raw)
    assert read_json(as_json(view)) == read_json(raw)
    assert isinstance(view.extra, dict)
    assert isinstance(repr(view), str)


@given(rows(MESSAGES))
def test_any_message_is_read_and_written_back(row: tuple[str, dict[str, Any]]):
    kind, _, subtype = row[0].partition("/")
    raw = encode({**row[1], "type": kind, "subtype": subtype})
    view = read_message(kind, subtype, raw)
    holds(view, raw)
    if isinstance(view, AssistantMessage | UserMessage):
        assert isinstance(view.text, str)
    if isinstance(view, StreamEvent):
        assert isinstance((view.text, view.event.block), tuple)


@given(LIKELY)
def test_any_content_is_a_list_of_blocks(content: Any):
    for block in read_blocks(encode(content)):
        assert isinstance(as_json(block), bytes)
        if isinstance(block, ToolResultBlock):
            assert isinstance(block.text + block.error_text, str)


@given(rows(BLOCKS.table))
def test_any_block_is_read_and_written_back(row: tuple[str, dict[str, Any]]):
    raw = encode({**row[1], "type": row[0]})
    holds(BLOCKS.read(raw), raw)


@given(rows(REQUESTS.table))
def test_any_request_is_read_and_written_back(row: tuple[str, dict[str, Any]]):
    raw = encode({**row[1], "subtype": row[0]})
    holds(read_request(row[0], raw), raw)


@given(rows(ANSWERS))
def test_any_answer_is_read_and_written_back(row: tuple[str, dict[str, Any]]):
    raw = encode(row[1])
    holds(read_answer(row[0], raw), raw)


@given(rows(HOOK_INPUTS.table))
def test_any_hook_input_is_read_and_written_back(row: tuple[str, dict[str, Any]]):
    raw = encode({**row[1], "hook_event_name": row[0]})
    holds(read_hook_input(raw), raw)


@given(rows(TOOL_RESULTS))
def test_any_tool_result_is_read_and_written_back(row: tuple[str, dict[str, Any]]):
    raw = encode(row[1])
    holds(read_tool_result(row[0], raw), raw)


@given(st.sampled_from(["Bash", "mcp__a__b", "Hologram"]), LIKELY)
def test_a_tool_result_of_any_shape_is_read(tool: str, value: Any):
    view = read_tool_result(tool, encode(value))
    assert (view.raw, read_json(as_json(view))) == (encode(value), read_json(encode(value)))


@given(LIKELY)
def test_suggestions_of_any_shape_are_read(value: Any):
    assert all(isinstance(as_json(view), bytes) for view in read_suggestions(encode(value)))


@given(st.binary(max_size=30), st.sampled_from(sorted(MESSAGES)))
def test_bytes_that_are_no_json_raise_nothing(raw: bytes, key: str):
    kind, _, subtype = key.partition("/")
    assert read_message(kind, subtype, raw).raw == raw
    assert all(isinstance(block.raw, bytes) for block in read_blocks(raw))
    assert read_tool_result("Bash", raw).raw == raw
