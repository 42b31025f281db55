"""Chunking does not change the lines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from handrail.protocol.frames import BadLine
from handrail.protocol.lines import LineSplitter

# Any bytes, with frequent newlines, carriage returns and spaces.
STREAMS = st.lists(st.sampled_from([b"\n", b"\r", b"\r\n", b" ", b"{}", b"\xe2\x80\xa8", b"abcdef"]) | st.binary()).map(
    b"".join
)


@st.composite
def cut_streams(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    stream = draw(STREAMS)
    cuts = sorted(draw(st.lists(st.integers(0, len(stream)))))
    return stream, [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


def split(chunks: list[bytes], limit: int) -> list[bytes | BadLine]:
    splitter = LineSplitter(limit)
    return [line for chunk in chunks for line in splitter.feed(chunk)] + splitter.finish()


@given(cut_streams(), st.integers(1, 40))
def test_chunking_does_not_change_the_lines(cut: tuple[bytes, list[bytes]], limit: int):
    stream, chunks = cut
    assert split(chunks, limit) == split([stream], limit) == split([bytes([byte]) for byte in stream], limit)


@given(cut_streams())
def test_lines_are_split_at_newlines(cut: tuple[bytes, list[bytes]]):
    stream, chunks = cut
    *whole, rest = stream.split(b"\n")
    lines = [line.removesuffix(b"\r") for line in whole]
    ended = [BadLine(rest, "the stream ended inside this line", len(rest))] if rest.strip() else []
    assert split(chunks, 10_000_000) == [line for line in lines if line.strip()] + ended


@given(cut_streams(), st.integers(1, 40))
def test_no_line_exceeds_the_limit(cut: tuple[bytes, list[bytes]], limit: int):
    lines = split(cut[1], limit)
    kept = [line.raw if isinstance(line, BadLine) else line for line in lines]
    assert all(len(line) <= limit for line in kept)
    assert all(line.size >= len(line.raw) for line in lines if isinstance(line, BadLine))
