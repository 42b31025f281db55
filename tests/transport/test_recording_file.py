"""Reading recordings, and errors with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.transport.recording_file import (
    End,
    Header,
    Recording,
    RecordingError,
    Row,
    Torn,
    iterate_recording,
    read_recording,
)

HEADER = '{"handrail":"recording","version":1,"argv":["claude","-p"],"started":"2026-01-31T12:00:00+00:00"}\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "talk.ndjson"
    path.write_text(text, encoding="utf-8")
    return path


def test_all_kinds_of_rows_are_read(tmp_path: Path):
    path = written(
        tmp_path,
        HEADER + '{"t":0.1,"dir":"in","raw":"{}\\r"}\n'
        '{"t":0.2,"dir":"out","b64":"/w=="}\n'
        '{"t":0.3,"dir":"err","raw":"oh","cut":true}\n'
        '{"t":0.4,"dir":"in","eof":true}\n'
        '{"t":0.5,"exit":null,"signal":"SIGKILL"}\n',
    )
    assert read_recording(path) == Recording(
        header=Header(argv=("claude", "-p"), started="2026-01-31T12:00:00+00:00"),
        rows=[
            Row(0.1, "in", b"{}\r"),
            Row(0.2, "out", b"\xff"),
            Row(0.3, "err", b"oh", cut=True),
            Row(0.4, "in", b"", eof=True),
        ],
        end=End(0.5, None, "SIGKILL"),
    )


def test_rows_have_the_bytes_of_the_wire():
    assert [Row(0, "out", b"a\r").wire, Row(0, "out", b"a", cut=True).wire, Row(0, "in", b"", eof=True).wire] == [
        b"a\r\n",
        b"a",
        b"",
    ]


def test_a_recording_can_be_read_part_by_part(tmp_path: Path):
    parts = iterate_recording(written(tmp_path, HEADER + '{"t":0,"dir":"in","raw":"x"}\n{"t":1,"exit":0}\n'))
    assert [type(part) for part in parts] == [Header, Row, End]


def test_torn_last_line_is_reported_and_the_rest_is_read(tmp_path: Path):
    path = written(tmp_path, HEADER + '{"t":0,"dir":"in","raw":"x"}\n{"t":1,"dir":"in","ra')
    recording = read_recording(path)
    assert (len(recording.rows), recording.end, recording.torn) == (1, None, True)
    assert list(iterate_recording(path))[-1] == Torn(3)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("nonsense", r"talk\.ndjson:2: .*malformed"),
        ('{"t":0,"dir":"up","raw":"x"}', r"talk\.ndjson:2: .*up"),
        ('{"t":0,"dir":"in"}', r"talk\.ndjson:2: .*`raw`"),
        ('{"t":0,"dir":"in","b64":"?"}', r"talk\.ndjson:2: .*base64"),
        ('{"t":0}', r"talk\.ndjson:2: .*`dir`"),
        ("[1]", r"talk\.ndjson:2: .*object"),
    ],
)
def test_invalid_row_is_reported_with_file_and_line(tmp_path: Path, line: str, complaint: str):
    with pytest.raises(RecordingError, match=complaint):
        read_recording(written(tmp_path, HEADER + line + "\n"))


@pytest.mark.parametrize("text", ["", "hello\n", "[]\n", '{"handrail":"other"}\n', '{"type":"user"}\n'])
def test_other_files_are_rejected_with_advice(tmp_path: Path, text: str):
    with pytest.raises(RecordingError, match=r"talk\.ndjson:1: not a recording.*handrail record"):
        read_recording(written(tmp_path, text))


def test_binary_file_is_rejected(tmp_path: Path):
    path = tmp_path / "talk.ndjson"
    path.write_bytes(b"\xff\xfe\x00\n")
    with pytest.raises(RecordingError, match="not a recording"):
        read_recording(path)


def test_newer_version_is_rejected(tmp_path: Path):
    with pytest.raises(RecordingError, match="version 2 of the format"):
        read_recording(written(tmp_path, HEADER.replace('"version":1', '"version":2')))
