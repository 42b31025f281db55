"""Recordings of decoded messages are read as if they were ours."""

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


def test_messages_become_lines_and_the_facts_become_header_and_end(tmp_path: Path):
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


def test_text_that_was_no_json_is_given_as_it_was(tmp_path: Path):
    recording = read_recording(written(tmp_path, [{"t": 0, "dir": "in", "msg": {"__raw__": "a\n b"}}], exit=0))
    assert [row.data for row in recording.rows if not row.eof] == [b"a", b" b"]


@pytest.mark.parametrize(
    ("failed", "code", "stderr", "waited"),
    [(False, 0, "", True), (True, 1, "", True), (False, 1, "", False), (True, 1, "No such session", False)],
)
def test_whether_the_process_waited_for_the_end_of_its_input_is_worked_out(
    tmp_path: Path, failed: bool, code: int, stderr: str, waited: bool
):
    recording = read_recording(written(tmp_path, [result(failed=failed)], exit=code, stderr=stderr))
    assert any(row.eof for row in recording.rows) == waited


def test_a_file_without_lines_is_known_by_its_facts(tmp_path: Path):
    assert read_recording(written(tmp_path, [], exit=1, stderr="oh")).end == End(0.0, 1)


def test_a_broken_row_is_named_by_file_and_line(tmp_path: Path):
    path = written(tmp_path, [{"t": 0, "dir": "in", "msg": {}}, {"t": "x"}], exit=0)
    with pytest.raises(RecordingError, match=r"talk\.ndjson:2: "):
        read_recording(path)


def test_broken_facts_are_named_by_file(tmp_path: Path):
    path = written(tmp_path, [{"t": 0, "dir": "in", "msg": {}}], exit=[])
    with pytest.raises(RecordingError, match=r"talk\.meta\.json: "):
        read_recording(path)
