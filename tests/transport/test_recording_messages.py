"""Reading recordings of decoded messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.transport.recording_file import End, Header, Recording, RecordingError, Row, read_recording


def written(folder: Path, rows: list[dict[str, Any]], **meta: Any) -> Path:
    path = folder / "talk.ndjson"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "talk.meta.json").write_text(json.dumps(meta))
    return path


def result(*, failed: bool) -> dict[str, Any]:
    return {"t": 2, "dir": "out", "msg": {"type": "result", "is_error": failed}}


def test_messages_become_rows_and_metadata_header_and_end(tmp_path: Path):
    rows = [{"t": 1, "dir": "in", "msg": {"type": "user", "text": "ä"}}, result(failed=False)]
    path = written(tmp_path, rows, argv=["-p"], exit=0, t_exit=3.5, stderr="oh\nno\n", notes={})
    assert read_recording(path) == Recording(
        header=Header(argv=("-p",)),
        rows=[
            Row(1, "in", '{"type":"user","text":"ä"}'.encode()),
            Row(2, "out", b'{"type":"result","is_error":false}'),
            Row(3.5, "err", b"oh"),
            Row(3.5, "err", b"no"),
            Row(3.5, "in", b"", eof=True),
        ],
        end=End(3.5, 0),
    )


def test_raw_text_is_unchanged(tmp_path: Path):
    recording = read_recording(written(tmp_path, [{"t": 0, "dir": "in", "msg": {"__raw__": "a\n b"}}], exit=0))
    assert [row.data for row in recording.rows if not row.eof] == [b"a", b" b"]


@pytest.mark.parametrize(
    ("failed", "code", "stderr", "waited"),
    [(False, 0, "", True), (True, 1, "", True), (False, 1, "", False), (True, 1, "No such session", False)],
)
def test_end_of_input_is_inferred(tmp_path: Path, failed: bool, code: int, stderr: str, waited: bool):
    recording = read_recording(written(tmp_path, [result(failed=failed)], exit=code, stderr=stderr))
    assert any(row.eof for row in recording.rows) == waited


def test_empty_file_is_recognized_by_its_metadata(tmp_path: Path):
    assert read_recording(written(tmp_path, [], exit=1, stderr="oh")).end == End(0.0, 1)


def test_invalid_row_is_reported_with_file_and_line(tmp_path: Path):
    path = written(tmp_path, [{"t": 0, "dir": "in", "msg": {}}, {"t": "x"}], exit=0)
    with pytest.raises(RecordingError, match=r"talk\.ndjson:2: "):
        read_recording(path)


def test_invalid_metadata_is_reported_with_its_file(tmp_path: Path):
    path = written(tmp_path, [{"t": 0, "dir": "in", "msg": {}}], exit=[])
    with pytest.raises(RecordingError, match=r"talk\.meta\.json: "):
        read_recording(path)
