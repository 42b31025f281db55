"""handrail.transcripts.entry: one line, its blocks and its text, however damaged."""

from typing import Any

import pytest

from handrail.transcripts.entry import Body, Entry, Envelope, body, decode, one_line, texts


def entry(raw: bytes) -> Entry:
    return Entry(raw, "user", "u", None, None, None)


def test_an_entry_gives_its_data_its_blocks_and_its_text():
    one = entry(
        b'{"type":"user","message":{"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}}'
    )
    assert one.decode()["type"] == "user"
    assert [block["type"] for block in one.blocks()] == ["text", "image", "text"]
    assert one.text() == "a\nb"


def test_plain_text_is_one_block():
    assert entry(b'{"message":{"content":"hi"}}').blocks() == [{"type": "text", "text": "hi"}]


@pytest.mark.parametrize("raw", [b"{}", b'{"message":null}', b'{"message":{"content":5}}', b'{"message":[1]}'])
def test_an_entry_without_content_has_no_blocks(raw: bytes):
    assert (entry(raw).blocks(), entry(raw).text()) == ([], "")


def test_unpaired_surrogate_becomes_a_replacement_character():
    assert decode(rb'{"a":"x\ud83d y \ud83d\ude00"}', dict[str, Any]) == ({"a": "x\ufffd y \U0001f600"}, True)
    assert entry(rb'{"message":{"content":"\udc00!"}}').text() == "\ufffd!"


def test_bytes_that_are_not_utf8_become_replacement_characters():
    assert decode(b'{"a":"\xff"}', dict[str, Any]) == ({"a": "\ufffd"}, True)


def test_numbers_beyond_a_float_become_null():
    assert decode(rb'{"a":1e999,"b":NaN,"c":"\ud800"}', dict[str, Any]) == ({"a": None, "b": None, "c": "\ufffd"}, True)


@pytest.mark.parametrize("raw", [b"", b"{", b"[1]", b'"text"', b"\0\0", b'{"a":1}{"b":2}', b"[" * 100_000, b"null"])
def test_other_json_is_a_value_error(raw: bytes):
    with pytest.raises(ValueError, match=r"."):
        decode(raw, Envelope)


def test_entry_with_a_huge_number_is_empty():
    assert entry(b'{"a":' + b"9" * 1_000_000 + b',"b":"\\ud800"}').decode() == {}


def test_a_message_of_another_shape_is_empty():
    assert body(Envelope()) == (Body(), False)
    assert body(decode(b'{"type":"user","message":[1,2]}', Envelope)[0]) == (Body(), False)


def test_texts_leave_out_everything_but_text():
    message = decode(b'{"content":[{"type":"thinking","text":"no"},{"type":"text","text":"yes"}]}', Body)[0]
    assert list(texts(message)) == ["yes"]


def test_a_long_text_is_put_on_one_line_and_cut():
    assert one_line("a\n\n b\tc", 10) == "a b c"
    assert one_line("word " * 100, 12) == "word word w…"
