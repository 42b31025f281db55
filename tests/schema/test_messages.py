"""Messages of a conversation: today's shapes, older ones, and those of tomorrow."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from handrail.schema.content import TextBlock, ToolResultBlock, ToolUseBlock, UnknownBlock
from handrail.schema.message_view import MessageView, Origin, UnknownMessage
from handrail.schema.messages import (
    MESSAGES,
    ApiMessage,
    AssistantMessage,
    ErrorDetail,
    ErrorMessage,
    LocalCommand,
    UserMessage,
    read_message,
)
from handrail.schema.stream_events import Event
from handrail.schema.system_messages import SystemMessage
from handrail.schema.usage import Usage
from handrail.schema.view import as_builtins, as_json
from tests.schema.known_fields import MESSAGE_FIELDS


def read(**wire: Any) -> MessageView:
    raw = json.dumps(wire, separators=(",", ":")).encode()
    view = read_message(wire["type"], wire.get("subtype", ""), raw)
    assert (view.raw, as_builtins(view)) == (raw, wire)
    return view


def user(content: Any, **wire: Any) -> UserMessage:
    view = read(type="user", message={"role": "user", "content": content}, **wire)
    assert isinstance(view, UserMessage)
    return view


def assistant(content: Any, **wire: Any) -> AssistantMessage:
    view = read(type="assistant", message={"role": "assistant", "content": content, **wire})
    assert isinstance(view, AssistantMessage)
    return view


@pytest.mark.parametrize("key", MESSAGES)
def test_every_row_reads_its_own_type(key: str):
    kind, _, subtype = key.partition("/")
    wire: dict[str, Any] = {"type": kind, **({"subtype": subtype} if subtype else {}), "uuid": "u", "session_id": "s"}
    wire |= {"assistant": {"message": {}}, "user": {"message": {}}, "stream_event": {"event": {}}}.get(key, {})
    wire |= {"error": {"error": {}}}.get(key, {})
    view = read(**wire)
    assert (type(view), view.type, getattr(view, "subtype", subtype)) == (MESSAGES[key], kind, subtype)


@pytest.mark.parametrize("key", MESSAGE_FIELDS)
def test_every_field_the_cli_is_known_to_send_has_a_name(key: str):
    names = {field.encode_name for field in msgspec.structs.fields(MESSAGES[key])}
    assert set(MESSAGE_FIELDS[key].split()) - names == set()


@pytest.mark.parametrize("key", MESSAGES)
def test_a_message_built_by_hand_says_its_type(key: str):
    cls = MESSAGES[key]
    required = {field.name for field in msgspec.structs.fields(cls) if field.required}
    parts: dict[str, Any] = {"message": ApiMessage(), "error": ErrorDetail(), "event": Event()}
    wire = as_builtins(cls(**{name: parts[name] for name in required}))
    assert "/".join(part for part in (wire["type"], wire.get("subtype")) if part) == key


def test_an_assistant_message_has_blocks_text_and_what_the_model_says_of_it():
    view = assistant(
        [
            {"type": "text", "text": "I'll help."},
            {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "/x"}},
            {"type": "hologram", "beams": 3},
        ],
        id="msg_1",
        model="claude-sonnet-4-5",
        stop_reason=None,
        usage={"input_tokens": 3, "output_tokens": 42, "cache_read_input_tokens": 5},
    )
    tool = ToolUseBlock(id="t", name="Read", input={"file_path": "/x"})
    assert view.content == [TextBlock(text="I'll help."), tool, UnknownBlock(type="hologram")]
    assert (view.text, view.tool_uses, view.model, view.message_id, view.stop_reason) == (
        "I'll help.",
        [tool],
        "claude-sonnet-4-5",
        "msg_1",
        None,
    )
    assert view.usage == Usage(input_tokens=3, output_tokens=42, cache_read_input_tokens=5)
    assert view.content is view.content


def test_an_assistant_message_with_plain_text_is_one_text_block():
    assert assistant("hello").content == [TextBlock(text="hello")]


def test_a_short_assistant_message_of_an_older_cli_is_read():
    view = assistant([{"type": "text", "text": "4"}], stop_reason="end_turn")
    assert (view.text, view.stop_reason, view.usage, view.uuid) == ("4", "end_turn", None, "")


def test_a_tool_result_has_its_text_and_the_tools_own_result():
    view = user(
        [{"type": "tool_result", "tool_use_id": "t", "content": "ok", "is_error": False}],
        tool_use_result={"stdout": "ok"},
        parent_tool_use_id=None,
    )
    assert view.tool_results == [ToolResultBlock(tool_use_id="t", content_raw=msgspec.Raw(b'"ok"'))]
    assert (view.tool_use_result, view.text, view.local_command) == ({"stdout": "ok"}, "", None)


def test_several_tool_results_in_one_message_are_all_there():
    view = user([{"type": "tool_result", "tool_use_id": id, "content": id} for id in ("a", "b", "c")])
    assert [(block.tool_use_id, block.text) for block in view.tool_results] == [("a", "a"), ("b", "b"), ("c", "c")]
    assert view.tool_use_result is None


@pytest.mark.parametrize(
    ("content", "command"),
    [
        (
            "<local-command-stdout>Total cost: $0.04\nmore</local-command-stdout>",
            LocalCommand(stdout="Total cost: $0.04\nmore"),
        ),
        ("<local-command-stderr>Error: no</local-command-stderr>", LocalCommand(stderr="Error: no")),
        (
            "<local-command-stdout>a</local-command-stdout> <local-command-stderr>b</local-command-stderr>",
            LocalCommand(stdout="a", stderr="b"),
        ),
        (
            [{"type": "text", "text": f"<local-command-stdout>{text}</local-command-stdout>"} for text in "ac"],
            LocalCommand(stdout="ac"),
        ),
        ([{"type": "text", "text": "<local-command-stdout></local-command-stdout>"}], LocalCommand()),
        ("a prompt", None),
    ],
)
def test_output_of_a_local_command_is_read_without_its_tags(content: Any, command: LocalCommand | None):
    assert user(content, isReplay=True).local_command == command


def test_origin_and_purpose_of_a_user_message_are_read():
    view = user("x", isSynthetic=True, shouldQuery=False, origin={"kind": "peer", "from": "a", "senderTaskId": "t"})
    assert (view.is_synthetic, view.is_replay, view.should_query, view.origin) == (
        True,
        False,
        False,
        Origin(kind="peer", from_="a", sender_task_id="t"),
    )


def test_an_error_message_of_an_older_cli_is_read():
    assert read(type="error", error={"type": "invalid_request", "message": "no"}) == ErrorMessage(
        error=ErrorDetail(type="invalid_request", message="no")
    )


def test_a_system_message_of_tomorrow_shows_its_fields():
    view = read(type="system", subtype="hologram", beams=3, session_id="s")
    assert view == SystemMessage(subtype="hologram", session_id="s")
    assert isinstance(view, SystemMessage)
    assert (view.extra, view.data) == (
        {"beams": 3},
        {"type": "system", "subtype": "hologram", "beams": 3, "session_id": "s"},
    )


@pytest.mark.parametrize(
    ("kind", "subtype", "raw", "view"),
    [
        ("banana", "", b'{"type":"banana", "x" : 1}', UnknownMessage(type="banana")),
        ("", "", b'{"foo":1}', UnknownMessage()),
        ("banana", "ripe", b'{"type":"banana","subtype":"ripe"}', UnknownMessage(type="banana", subtype="ripe")),
        (
            "user",
            "",
            b'{"type":"user"}',
            UnknownMessage(type="user", problem="Object missing required field `message`"),
        ),
        (
            "assistant",
            "",
            b'{"type":"assistant","message":5,"delta":7}',
            UnknownMessage(type="assistant", problem="Expected `object`, got `int` - at `$.message`"),
        ),
        (
            "system",
            "init",
            b'{"type":"system","subtype":"init","tools":"all"}',
            UnknownMessage(type="system", subtype="init", problem="Expected `array`, got `str` - at `$.tools`"),
        ),
        (
            "system",
            "hologram",
            b'{"type":"system","subtype":"hologram","uuid":[]}',
            UnknownMessage(type="system", subtype="hologram", problem="Expected `str`, got `array` - at `$.uuid`"),
        ),
        (
            "result",
            "success",
            b'{"type":"result","subtype":"success","usage":[1]}',
            UnknownMessage(
                type="result", subtype="success", problem="Expected `object | null`, got `array` - at `$.usage`"
            ),
        ),
    ],
)
def test_unknown_or_invalid_message_has_a_reason_and_keeps_its_bytes(
    kind: str, subtype: str, raw: bytes, view: UnknownMessage
):
    read = read_message(kind, subtype, raw)
    assert (read, read.raw, as_json(read)) == (view, raw, raw)
    assert as_builtins(read) == json.loads(raw)


def test_hostile_content_never_raises():
    views = [
        read_message("user", "", b'{"type":"user","message":{"role":"user","content":' + content + b"}}")
        for content in (b"5", b"null", b"{}", b'[null,5,"x",[],{"type":5},{"type":"tool_result"}]', b'"\\ud800"')
    ]
    assert all(isinstance(view, UserMessage) for view in views)
    assert [len(view.content) for view in views if isinstance(view, UserMessage)] == [1, 0, 1, 6, 1]
    assert [view.tool_results for view in views if isinstance(view, UserMessage)] == [[], [], [], [], []]
