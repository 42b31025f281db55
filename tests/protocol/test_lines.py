"""Splitting bytes into lines, and the memory it takes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable
from itertools import chain

import pytest

from handrail.protocol.frames import BadLine
from handrail.protocol.lines import DEFAULT_LIMIT, LineSplitter

MIB = 1024 * 1024
PIECE = 64 * 1024


def split(*chunks: bytes, limit: int = DEFAULT_LIMIT) -> list[bytes | BadLine]:
    splitter = LineSplitter(limit)
    return [line for chunk in chunks for line in splitter.feed(chunk)] + splitter.finish()


def peak_of_feeding(splitter: LineSplitter, pieces: Iterable[bytes]) -> tuple[int, list[bytes | BadLine]]:
    """Peak memory in bytes, above the level before."""
    lines: list[bytes | BadLine] = []
    tracemalloc.start()
    try:
        for piece in pieces:
            lines += splitter.feed(piece)
        return tracemalloc.get_traced_memory()[1], lines
    finally:
        tracemalloc.stop()


def test_lines_have_no_newline():
    assert split(b'{"a":1}\n{"b":2}\n') == [b'{"a":1}', b'{"b":2}']


def test_line_in_several_chunks_is_joined():
    assert split(b'{"a"', b":", b"1}\n{", b'"b":2}\n') == [b'{"a":1}', b'{"b":2}']


def test_an_empty_chunk_changes_nothing():
    assert split(b"a", b"", b"b\n", b"") == [b"ab"]


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\u0085", "\u000b", "\u000c", "\u001c", "\u001d", "\u001e"])
def test_only_a_newline_ends_a_line(sign: str):
    line = f'{{"type":"user","text":"one{sign}two"}}'.encode()
    assert split(line + b"\n" + line + b"\n") == [line, line]


def test_blank_lines_are_dropped():
    assert split(b"\n\n  \n\t\na\n\n \r\n\r\nb\n") == [b"a", b"b"]


def test_crlf_ends_a_line():
    assert split(b"a\r\nb\r\n") == [b"a", b"b"]


def test_crlf_may_be_split_between_chunks():
    assert split(b"a\r", b"\nb\r", b"\n") == [b"a", b"b"]


def test_carriage_return_inside_a_line_is_kept():
    assert split(b"a\rb\n") == [b"a\rb"]


@pytest.mark.parametrize("cut", range(1, 4))
def test_character_split_between_chunks_is_intact(cut: int):
    line = '{"text":"🪜"}'.encode()
    place = line.index("🪜".encode()) + cut
    assert split(line[:place], line[place:] + b"\n") == [line]


def test_invalid_utf8_is_passed_through():
    assert split(b"\xff\xfe\n\xf0\x9f\n") == [b"\xff\xfe", b"\xf0\x9f"]


def test_a_line_as_long_as_the_limit_is_accepted():
    assert split(b"x" * 10 + b"\n", limit=10) == [b"x" * 10]


@pytest.mark.parametrize(
    "chunks",
    [
        [b"before\n" + b"x" * 11 + b"\nafter\n"],
        [b"before\nxxx", b"x" * 8, b"\nafter\n"],
        [bytes([byte]) for byte in b"before\n" + b"x" * 11 + b"\nafter\n"],
    ],
    ids=["in one chunk", "in three", "byte by byte"],
)
def test_line_over_the_limit_is_truncated_and_the_next_arrives(chunks: list[bytes]):
    too_long = BadLine(b"x" * 10, "the line has 11 bytes, more than the limit of 10", 11)
    assert split(*chunks, limit=10) == [b"before", too_long, b"after"]


def test_first_line_of_a_chunk_may_be_too_long():
    too_long = BadLine(b"xxxx", "the line has 5 bytes, more than the limit of 4", 5)
    assert split(b"xxxxx\nok\n", limit=4) == [too_long, b"ok"]


def test_unfinished_last_line_is_a_bad_line():
    assert split(b'{"a":1}\n{"b"') == [b'{"a":1}', BadLine(b'{"b"', "the stream ended inside this line", 4)]


def test_unfinished_last_line_over_the_limit_is_truncated():
    assert split(b"x" * 9, limit=4) == [BadLine(b"xxxx", "the stream ended inside this line", 9)]


@pytest.mark.parametrize("end", [b"", b" ", b"\r", b" \t\r"])
def test_trailing_white_space_is_ignored(end: bytes):
    assert split(b"a\n" + end) == [b"a"]


def test_finishing_twice_reports_the_unfinished_line_once():
    splitter = LineSplitter()
    splitter.feed(b"cut")
    assert (len(splitter.finish()), splitter.finish()) == (1, [])


def test_long_line_is_copied_once():
    piece = b"x" * PIECE  # one object, so that all measured memory is copies
    size = 256 * PIECE
    peak, lines = peak_of_feeding(LineSplitter(limit=size), [piece] * 256 + [b"\nnext\n"])
    assert [len(line) for line in lines if isinstance(line, bytes)] == [size, 4]
    assert peak < size + MIB


def test_memory_for_a_huge_line_is_at_most_twice_the_limit():
    splitter = LineSplitter()
    peak, lines = peak_of_feeding(splitter, (bytes(PIECE) for _ in range(1600)))
    assert (lines, peak < DEFAULT_LIMIT + MIB) == ([], True)
    peak, lines = peak_of_feeding(splitter, [b'\n{"type":"user"}\n'])
    reason = f"the line has {1600 * PIECE} bytes, more than the limit of {DEFAULT_LIMIT}"
    assert lines == [BadLine(bytes(DEFAULT_LIMIT), reason, 1600 * PIECE), b'{"type":"user"}']
    assert peak < DEFAULT_LIMIT + MIB  # besides the stored parts


def test_stream_without_newlines_is_limited():
    peak, lines = peak_of_feeding(LineSplitter(limit=MIB), (bytes(PIECE) for _ in range(1024)))
    assert (lines, peak < 2 * MIB) == ([], True)


def test_memory_for_tiny_chunks_is_about_twice_the_line():
    size = 2 * PIECE + 8
    peak, lines = peak_of_feeding(LineSplitter(), chain((bytes(8) for _ in range(size // 8)), [b"\n"]))
    assert lines == [bytes(size)]
    assert peak < 3 * size


def test_memory_is_released_with_the_line():
    splitter = LineSplitter()
    splitter.feed(bytes(PIECE))
    splitter.feed(b"\n")
    assert splitter.finish() == []
    assert splitter.feed(b"next\n") == [b"next"]


@pytest.mark.parametrize(("rest", "lines"), [(b"{}", [b"{}"]), (b"{}\r", [b"{}"]), (b" \r", []), (b"", [])])
def test_the_end_of_a_stream_may_end_its_last_line(rest: bytes, lines: list[bytes]):
    splitter = LineSplitter()
    assert splitter.feed(b"1\n" + rest) == [b"1"]
    assert splitter.finish(ends_line=True) == lines
