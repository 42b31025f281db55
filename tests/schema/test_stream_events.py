"""Events of the model's stream."""

from __future__ import annotations

import json

import msgspec
import pytest

from handrail.schema.content import TextBlock, ToolUseBlock, UnknownBlock
from handrail.schema.message_view import UnknownMessage
from handrail.schema.messages import read_message, read_partials
from handrail.schema.stream_events import AbandonedBlocks, AssistantDelta, Delta, Event, StreamEvent
from handrail.schema.usage import Usage
from handrail.schema.view import as_builtins


def read(event: str, rest: str = "") -> StreamEvent:
    raw = f'{{"type":"stream_event","event":{event}{rest}}}'.encode()
    view = read_message("stream_event", "", raw)
    assert isinstance(view, StreamEvent)
    assert as_builtins(view) == json.loads(raw)
    return view


def test_a_piece_of_text_is_one_flat_event():
    view = read(
        '{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"hel"}}',
        ',"session_id":"s","uuid":"u","parent_tool_use_id":null,"api_message_id":"m"',
    )
    assert view == StreamEvent(
        event=Event(type="content_block_delta", index=2, delta=Delta(type="text_delta", text="hel")),
        session_id="s",
        uuid="u",
        api_message_id="m",
    )
    assert (view.text, view.thinking) == ("hel", "")


def test_each_kind_of_delta_fills_its_own_field():
    deltas = [
        '{"type":"thinking_delta","thinking":"hm"}',
        '{"type":"input_json_delta","partial_json":"{\\"a"}',
        '{"type":"signature_delta","signature":"sig"}',
        '{"type":"citations_delta","citation":{"url":"u"}}',
    ]
    views = [read(f'{{"type":"content_block_delta","index":0,"delta":{delta}}}') for delta in deltas]
    assert [view.event.delta for view in views] == [
        Delta(type="thinking_delta", thinking="hm"),
        Delta(type="input_json_delta", partial_json='{"a'),
        Delta(type="signature_delta", signature="sig"),
        Delta(type="citations_delta", citation={"url": "u"}),
    ]
    assert [(view.text, view.thinking) for view in views] == [("", "hm"), ("", ""), ("", ""), ("", "")]


def test_a_block_that_starts_is_a_typed_block():
    starts = [
        '{"type":"text","text":""}',
        '{"type":"tool_use","id":"t","name":"Bash","input":{}}',
        '{"type":"hologram"}',
    ]
    events = [read(f'{{"type":"content_block_start","index":1,"content_block":{block}}}').event for block in starts]
    assert [event.block for event in events] == [
        TextBlock(text=""),
        ToolUseBlock(id="t", name="Bash"),
        UnknownBlock(type="hologram"),
    ]


def test_an_event_without_a_block_or_a_delta_has_none():
    view = read('{"type":"message_stop"}', ',"abandoned_blocks":{"api_message_id":"m","from_block_index":1}')
    assert (view.event, view.event.block, view.text, view.thinking, view.abandoned_blocks) == (
        Event(type="message_stop"),
        None,
        "",
        "",
        AbandonedBlocks(api_message_id="m", from_block_index=1),
    )


def test_the_start_and_the_end_of_a_message_carry_what_is_known_of_it():
    start = read('{"type":"message_start","message":{"id":"m","usage":{"input_tokens":3}}}', ',"ttft_ms":12')
    end = read(
        '{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}}'
    )
    assert (start.event.message, start.ttft_ms) == ({"id": "m", "usage": {"input_tokens": 3}}, 12)
    assert end.event == Event(type="message_delta", delta=Delta(stop_reason="end_turn"), usage=Usage(output_tokens=9))


def test_an_error_in_the_stream_and_an_event_of_tomorrow_are_read():
    assert read('{"type":"error","error":{"type":"overloaded_error"}}').event == Event(
        type="error", error={"type": "overloaded_error"}
    )
    tomorrow = read('{"type":"hologram_delta","beams":3}', ',"rows_of_tomorrow":[]')
    assert (tomorrow.event, tomorrow.extra) == (Event(type="hologram_delta"), {"rows_of_tomorrow": []})


def test_the_older_spelling_as_an_assistant_line_is_the_same_event():
    raw = b'{"type":"assistant","delta":{"type":"content_block_delta","delta":{"type":"text_delta","text":"p"}}}'
    view = read_message("assistant", "", raw)
    assert view == AssistantDelta(event=Event(type="content_block_delta", delta=Delta(type="text_delta", text="p")))
    assert isinstance(view, StreamEvent)
    assert (view.text, view.raw, as_builtins(view)) == ("p", raw, json.loads(raw))


def test_an_event_that_does_not_fit_is_unknown_and_names_the_field():
    raw = b'{"type":"stream_event","event":{"type":"x","index":"one"}}'
    view = read_message("stream_event", "", raw)
    problem = "Expected `int`, got `str` - at `$.event.index`"
    assert (view, view.raw) == (UnknownMessage(type="stream_event", problem=problem), raw)


def test_a_piece_of_text_cut_in_a_surrogate_pair_is_read():
    raw = (
        b'{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"\\ud83d"}}}'
    )
    view = read_message("stream_event", "", raw)
    assert isinstance(view, StreamEvent)
    assert (view.text, view.raw) == ("\ufffd", raw)


def test_events_are_not_looked_at_by_the_garbage_collector():
    assert [cls.__struct_config__.gc for cls in (Event, Delta)] == [False, False]
    assert msgspec.structs.fields(Event)[3].encode_name == "content_block"


PING = b'{"type":"stream_event","event":{"type":"ping"}}'


def test_lines_that_are_all_stream_events_are_read_together():
    lines = [PING, '{"event":{"type":"é"},"type":"stream_event"}'.encode()]
    views = read_partials(lines, below=100)
    assert views is not None
    assert [(view.event.type, view.raw) for view in views] == [("ping", lines[0]), ("é", lines[1])]


@pytest.mark.parametrize(
    "other",
    [
        b'{"type":"tomorrow","event":{}}',
        b'{"type":"stream_event"}',
        b'{"type":"stream_event","event":{}',
        b'{"type":"stream_event","event":{},"x":"\xff"}',
        b'{"type":"stream_event","event":{},"x":"' + b"y" * 100 + b'"}',
        None,
    ],
)
def test_lines_are_not_read_together_if_one_is_not_a_short_stream_event(other: bytes | None):
    assert read_partials([PING, other], below=100) is None
