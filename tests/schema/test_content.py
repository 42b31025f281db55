"""Content blocks, known and unknown."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from handrail.schema.content import (
    BLOCKS,
    AdvisorToolResultBlock,
    BashCodeExecutionToolResultBlock,
    Block,
    CodeExecutionToolResultBlock,
    CompactionBlock,
    ContainerUploadBlock,
    DocumentBlock,
    ImageBlock,
    McpToolResultBlock,
    McpToolUseBlock,
    RedactedThinkingBlock,
    SearchResultBlock,
    ServerToolUseBlock,
    Source,
    TextBlock,
    TextEditorCodeExecutionToolResultBlock,
    ThinkingBlock,
    ToolReferenceBlock,
    ToolResultBlock,
    ToolSearchToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    WebFetchToolResultBlock,
    WebSearchToolResultBlock,
    joined_text,
    read_blocks,
    write_blocks,
)
from handrail.schema.view import as_builtins, as_json

SAMPLES: list[tuple[dict[str, Any], Block]] = [
    ({"type": "text", "text": "hi"}, TextBlock(text="hi")),
    ({"type": "text", "text": "hi", "citations": None}, TextBlock(text="hi")),
    ({"type": "thinking", "thinking": "hm", "signature": "s"}, ThinkingBlock(thinking="hm", signature="s")),
    ({"type": "thinking", "thinking": "hm"}, ThinkingBlock(thinking="hm")),
    ({"type": "redacted_thinking", "data": "xyz"}, RedactedThinkingBlock(data="xyz")),
    (
        {"type": "tool_use", "id": "t", "name": "Read", "input": {"a": 1}},
        ToolUseBlock(id="t", name="Read", input={"a": 1}),
    ),
    (
        {"type": "server_tool_use", "id": "t", "name": "web_search", "input": {}},
        ServerToolUseBlock(id="t", name="web_search"),
    ),
    (
        {"type": "mcp_tool_use", "id": "t", "name": "add", "server_name": "calc", "input": {}},
        McpToolUseBlock(id="t", name="add", server_name="calc"),
    ),
    (
        {"type": "tool_result", "tool_use_id": "t", "content": "done"},
        ToolResultBlock(tool_use_id="t", content_raw=msgspec.Raw(b'"done"')),
    ),
    (
        {"type": "mcp_tool_result", "tool_use_id": "t", "is_error": True, "content": []},
        McpToolResultBlock(tool_use_id="t", is_error=True, content_raw=msgspec.Raw(b"[]")),
    ),
    (
        {"type": "web_search_tool_result", "tool_use_id": "t", "content": [{"url": "u"}]},
        WebSearchToolResultBlock(tool_use_id="t", content=[{"url": "u"}]),
    ),
    (
        {"type": "web_fetch_tool_result", "tool_use_id": "t", "content": {"url": "u"}},
        WebFetchToolResultBlock(tool_use_id="t", content={"url": "u"}),
    ),
    ({"type": "code_execution_tool_result", "tool_use_id": "t"}, CodeExecutionToolResultBlock(tool_use_id="t")),
    (
        {"type": "bash_code_execution_tool_result", "tool_use_id": "t"},
        BashCodeExecutionToolResultBlock(tool_use_id="t"),
    ),
    (
        {"type": "text_editor_code_execution_tool_result", "tool_use_id": "t"},
        TextEditorCodeExecutionToolResultBlock(tool_use_id="t"),
    ),
    ({"type": "tool_search_tool_result", "tool_use_id": "t"}, ToolSearchToolResultBlock(tool_use_id="t")),
    ({"type": "advisor_tool_result", "tool_use_id": "t"}, AdvisorToolResultBlock(tool_use_id="t")),
    (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
        ImageBlock(source=Source(type="base64", media_type="image/png", data="AA==")),
    ),
    (
        {"type": "document", "source": {"type": "url", "url": "http://127.0.0.1/a.pdf"}, "title": "A"},
        DocumentBlock(source=Source(type="url", url="http://127.0.0.1/a.pdf"), title="A"),
    ),
    (
        {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "x"}]},
        SearchResultBlock(source="s", title="t", content_raw=msgspec.Raw(b'[{"type":"text","text":"x"}]')),
    ),
    ({"type": "container_upload", "file_id": "f"}, ContainerUploadBlock(file_id="f")),
    ({"type": "compaction", "content": "short"}, CompactionBlock(content="short")),
    ({"type": "tool_reference", "tool_name": "Grep"}, ToolReferenceBlock(tool_name="Grep")),
]


def encode(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


@pytest.mark.parametrize(("wire", "block"), SAMPLES)
def test_every_block_is_read_and_written_back(wire: dict[str, Any], block: Block):
    read = BLOCKS.read(encode(wire))
    assert (read, type(read), as_builtins(read), read.extra) == (block, type(block), wire, {})


def test_every_row_of_the_table_has_a_sample_and_its_own_type():
    assert {wire["type"] for wire, _ in SAMPLES} == set(BLOCKS.table)
    assert {name: block.type for name, block in ((wire["type"], block) for wire, block in SAMPLES)} == {
        name: name for name in BLOCKS.table
    }


def test_content_that_is_a_string_is_one_text_block():
    assert read_blocks(b'"hello \\u00e9"') == [TextBlock(text="hello é")]


def test_content_that_is_a_list_is_read_block_by_block():
    assert read_blocks(b'[{"type":"text","text":"a"},{"type":"thinking","thinking":"b"}]') == [
        TextBlock(text="a"),
        ThinkingBlock(thinking="b"),
    ]


@pytest.mark.parametrize("raw", [b"", b"null", b"[]"])
def test_empty_content_has_no_blocks(raw: bytes):
    assert read_blocks(raw) == []


def test_a_string_cut_in_a_surrogate_pair_is_still_text():
    assert read_blocks(b'"cut \\ud83d"') == [TextBlock(text="cut \ufffd")]


@pytest.mark.parametrize(
    ("raw", "block"),
    [
        (b'{"type":"hologram", "beams" : 3}', UnknownBlock(type="hologram")),
        (b'{"type":"text"}', UnknownBlock(type="text", problem="Object missing required field `text`")),
        (
            b'{"type":"tool_use","id":"t","name":"Read","input":"x"}',
            UnknownBlock(type="tool_use", problem="Expected `object`, got `str` - at `$.input`"),
        ),
        (b"17", UnknownBlock()),
        (b"[[]]", UnknownBlock()),
    ],
)
def test_an_unknown_block_says_why_and_keeps_its_bytes(raw: bytes, block: UnknownBlock):
    (read,) = read_blocks(b"[" + raw + b"]")
    assert (read, read.raw, as_json(read)) == (block, raw, raw)


def test_content_that_is_neither_a_string_nor_a_list_is_one_unknown_block():
    assert read_blocks(b"17") == [UnknownBlock()]


def result(content: Any, *, is_error: bool | None = None) -> ToolResultBlock:
    wire = {"type": "tool_result", "tool_use_id": "t", "content": content}
    block = BLOCKS.read(encode(wire if is_error is None else {**wire, "is_error": is_error}))
    assert isinstance(block, ToolResultBlock)
    return block


def test_a_tool_result_has_blocks_and_text_whatever_its_content_is():
    listed = result([{"type": "text", "text": "a"}, {"type": "image", "source": {}}, {"type": "text", "text": "b"}])
    assert (listed.content, listed.text) == (
        [TextBlock(text="a"), ImageBlock(source=Source()), TextBlock(text="b")],
        "ab",
    )
    assert (result("plain").content, result("plain").text) == ([TextBlock(text="plain")], "plain")
    assert listed.content is listed.content


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (result("fine"), ""),
        (result("it broke", is_error=True), "it broke"),
        (result("<tool_use_error>File does not exist.</tool_use_error>", is_error=True), "File does not exist."),
        (result("<tool_use_error>two\nlines</tool_use_error>"), "two\nlines"),
        (result(None, is_error=True), ""),
    ],
)
def test_error_text_is_read_without_its_tags(block: ToolResultBlock, text: str):
    assert block.error_text == text


def test_a_search_result_has_blocks():
    block = BLOCKS.read(b'{"type":"search_result","content":[{"type":"text","text":"x"}]}')
    assert isinstance(block, SearchResultBlock)
    assert block.content == [TextBlock(text="x")]


def test_blocks_built_by_hand_are_written_as_content():
    raw = write_blocks(
        [TextBlock(text="a"), ImageBlock(source=Source(type="base64", media_type="image/png", data="x"))]
    )
    assert json.loads(bytes(raw)) == [
        {"type": "text", "text": "a"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "x"}},
    ]
    assert bytes(write_blocks("plain")) == b'"plain"'


def test_only_text_blocks_have_text():
    assert joined_text([TextBlock(text="a"), ThinkingBlock(thinking="b"), TextBlock(text="c")]) == "ac"
