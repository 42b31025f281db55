"""The message that starts the session of a prewarmed process."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.transport.start_message import Start, read_start

MESSAGE = Start("/work", ["--model=x"]).encode()
words = st.binary(max_size=50).map(lambda word: os.fsdecode(word.replace(b"\0", b"")))
"""Arguments and paths may contain any bytes but NUL, such as a file name that is not UTF-8."""


def read(data: bytes) -> tuple[Start | None, bytes]:
    """What is read of these bytes, and the rest that is left in the pipe."""
    reading, writing = os.pipe()
    try:
        os.write(writing, data)
        os.close(writing)
        return read_start(reading), os.read(reading, 65536)
    finally:
        os.close(reading)


@given(cwd=words.filter(bool), arguments=st.lists(words, max_size=5), rest=st.binary(max_size=20))
def test_message_is_read_without_the_bytes_behind_it(cwd: str, arguments: list[str], rest: bytes):
    assert read(Start(cwd, arguments).encode() + rest) == (Start(cwd, arguments), rest)


@pytest.mark.parametrize("length", range(len(MESSAGE)))
def test_truncated_message_is_no_session(length: int):
    assert read(MESSAGE[:length])[0] is None
