"""Writing recordings: complete, masked, private, and never in the way."""

from __future__ import annotations

import io
import logging
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.transport import recording_writer
from handrail.transport.recording_file import End, Row, read_recording
from handrail.transport.recording_writer import RecordingWriter, create_recording_file


class Kept(io.BytesIO):
    """A file that can be read after it was closed."""

    def close(self) -> None:
        self.kept = self.getvalue()


class Full(io.BytesIO):
    """A file on a disk that is full after the header."""

    def write(self, data: object) -> int:
        if self.tell():
            raise OSError(28, "No space left on device")
        return super().write(data)  # type: ignore[arg-type]


def recorded(path: Path, *pieces: bytes) -> list[bytes]:
    writer = RecordingWriter(create_recording_file(path, overwrite=True))
    for piece in pieces:
        writer.take("out", piece)
    writer.end(0)
    return [row.wire for row in read_recording(path).rows]


def test_directions_are_split_into_lines_independently(tmp_path: Path):
    path = tmp_path / "talk.ndjson"
    ticks = iter(range(100))
    writer = RecordingWriter(create_recording_file(path), argv=["claude"], clock=lambda: float(next(ticks)))
    writer.take("in", b"que")
    writer.take("out", b"one\r\ntw")
    writer.take("in", b"stion\n")
    writer.take("err", b"\xff\n")
    writer.end_input()
    writer.end(None, "SIGTERM")
    recording = read_recording(path)
    assert recording.header.argv == ("claude",)
    assert recording.rows == [
        Row(1, "out", b"one\r"),
        Row(2, "in", b"question"),
        Row(3, "err", b"\xff"),
        Row(4, "in", b"", eof=True),
        Row(5, "out", b"tw", cut=True),
    ]
    assert recording.end == End(6, None, "SIGTERM")


@given(st.lists(st.binary(max_size=20), max_size=8))
def test_chunking_loses_nothing(tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]):
    path = tmp_path_factory.getbasetemp() / "lossless.ndjson"
    assert b"".join(recorded(path, *pieces)) == b"".join(pieces)


def test_rows_are_flushed_at_once(tmp_path: Path):
    path = tmp_path / "talk.ndjson"
    writer = RecordingWriter(create_recording_file(path))
    writer.take("out", b"said\nhalf")
    recording = read_recording(path)
    assert ([row.data for row in recording.rows], recording.end) == ([b"said"], None)
    writer.end(0)


def test_secret_split_between_chunks_is_masked(tmp_path: Path):
    pieces = (b'{"key":"sk-ant-', b'api03-abc","password":"', b'hunter2"}\n')
    assert recorded(tmp_path / "talk.ndjson", *pieces) == [b'{"key":"***","password":"***"}\n']


def test_secrets_of_environment_and_argv_are_masked(tmp_path: Path):
    path = tmp_path / "talk.ndjson"
    environment = {"MY_TOKEN": "value-of-token"}
    writer = RecordingWriter(
        create_recording_file(path), argv=["x", "--api-key", "abc", "value-of-token"], environment=environment
    )
    for direction in ("in", "out", "err"):
        writer.take(direction, b"a value-of-token b\n")
    writer.end(0)
    recording = read_recording(path)
    assert b"value-of-token" not in path.read_bytes()
    assert recording.header.argv == ("x", "--api-key", "***", "***")
    assert {row.data for row in recording.rows} == {b"a *** b"}


def test_file_is_private(tmp_path: Path):
    path = tmp_path / "talk.ndjson"
    before = os.umask(0)
    try:
        create_recording_file(path).close()
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


def test_existing_file_is_not_overwritten_by_default(tmp_path: Path):
    path = tmp_path / "talk.ndjson"
    path.write_text("old")
    path.chmod(0o644)
    with pytest.raises(FileExistsError, match=r"talk\.ndjson exists; choose another name"):
        create_recording_file(path)
    create_recording_file(path, overwrite=True).close()
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("", 0o600)


def test_symlink_is_replaced_and_its_target_kept(tmp_path: Path):
    target, link = tmp_path / "precious", tmp_path / "talk.ndjson"
    target.write_text("precious")
    link.symlink_to(target)
    create_recording_file(link, overwrite=True).close()
    assert (target.read_text(), link.is_symlink()) == ("precious", False)


def test_a_folder_or_device_is_never_removed(tmp_path: Path):
    with pytest.raises(FileExistsError, match="not a file"):
        create_recording_file(tmp_path, overwrite=True)
    assert tmp_path.is_dir()


def test_full_disk_is_logged_once(caplog: pytest.LogCaptureFixture):
    writer = RecordingWriter(Full())
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            writer.take("out", b"line\n")
        writer.end(0)
    assert writer.failure == "[Errno 28] No space left on device"
    assert [record.getMessage() for record in caplog.records] == [
        "the recording is incomplete: [Errno 28] No space left on device"
    ]


def test_data_after_the_end_is_ignored():
    file = Kept()
    writer = RecordingWriter(file)
    writer.end(0)
    size = len(file.kept)
    writer.take("in", b"late\n")
    writer.end_input()
    assert (writer.failure, len(file.getvalue())) == ("", size)


def test_endless_line_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recording_writer, "LONGEST_LINE", 64)
    piece = b'"some words of text" '
    lines = recorded(tmp_path / "talk.ndjson", *[piece] * 10, b"\n")
    assert (len(lines) > 2, b"".join(lines)) == (True, piece * 10 + b"\n")
