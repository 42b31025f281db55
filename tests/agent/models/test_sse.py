"""handrail.agent.models.sse: events out of bytes, wherever they are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.agent.models.sse import EventReader, EventTooLong


def read(*chunks: bytes) -> list[tuple[str, bytes]]:
    reader = EventReader()
    return [event for chunk in chunks for event in reader.feed(chunk)]


def test_an_event_has_its_name_and_its_data():
    assert read(b'event: message_stop\ndata: {"a":1}\n\n') == [("message_stop", b'{"a":1}')]


def test_the_lines_of_several_data_fields_are_joined():
    assert read(b"data: one\ndata: two\ndata:\n\n") == [("", b"one\ntwo\n")]


def test_only_the_first_space_after_the_colon_is_dropped():
    assert read(b"data:  x\n\ndata:y\n\n") == [("", b" x"), ("", b"y")]


def test_comments_unknown_fields_and_names_without_data_are_ignored():
    assert read(b": hello\nid: 7\nretry: 10\nnonsense\n\nevent: ping\n\ndata: x\n\n") == [("", b"x")]


def test_an_event_needs_an_empty_line_at_its_end():
    assert read(b"data: x\n") == []


def test_a_byte_order_mark_at_the_start_is_skipped():
    assert read(b"\xef", b"\xbb\xbfdata: x\n\n") == [("", b"x")]


def test_a_split_crlf_is_one_line_end():
    assert read(b"data: x\r", b"\n\r", b"\ndata: y\r\n\r\n") == [("", b"x"), ("", b"y")]


def test_an_event_without_end_is_refused():
    reader = EventReader(longest=100)
    with pytest.raises(EventTooLong):
        _ = [list(reader.feed(b"data: xxxxx")) for _ in range(100)]


def test_the_limit_is_for_each_event():
    reader = EventReader(longest=100)
    assert sum(len(list(reader.feed(b"data: xxxxx\n\n"))) for _ in range(100)) == 100


@given(
    st.lists(st.binary(max_size=12).filter(lambda data: b"\n" not in data and b"\r" not in data), max_size=5),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.data(),
)
def test_it_does_not_matter_where_the_bytes_are_cut(texts: list[bytes], newline: bytes, data: st.DataObject):
    stream = b"".join(b"event: e" + newline + b"data: " + each + newline * 2 for each in texts)
    chunks: list[bytes] = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        chunks.append(stream[:size])
        stream = stream[size:]
    assert read(*chunks) == [("e", each) for each in texts]
