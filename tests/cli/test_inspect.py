"""`handrail inspect` shows what happened, to people and to scripts."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest

from handrail.cli import main

TOUR = str(resources.files("handrail.cli").joinpath("tour.ndjson"))
HEADER = '{"handrail":"recording","version":1,"argv":["claude"],"started":""}\n'


def written(folder: Path, *rows: object) -> Path:
    path = folder / "talk.ndjson"
    path.write_text(HEADER + "".join(json.dumps(row) + "\n" for row in rows))
    return path


def shown(capsys: pytest.CaptureFixture[str], *arguments: str | Path, code: int = 0) -> str:
    assert main(["inspect", *map(str, arguments)]) == code
    out, err = capsys.readouterr()
    return out if code == 0 else err


def test_the_table_has_lines_turns_pairs_and_totals(capsys: pytest.CaptureFixture[str]):
    text = shown(capsys, TOUR)
    for part in ("→ user ", "← result ", "request can_use_tool", "Turns", "Requests and answers", "exit code 0"):
        assert part in text
    assert "1 turns, $0.06" in text


def test_only_the_lines_asked_for_are_shown(capsys: pytest.CaptureFixture[str]):
    assert [line.split()[2] for line in shown(capsys, TOUR, "--only", "result").splitlines()] == ["result"]
    directions = {line.split()[1] for line in shown(capsys, TOUR, "--only", "in").splitlines()}
    assert directions == {"→"}
    assert len(shown(capsys, TOUR, "--only", "can_use_tool").splitlines()) == 4


def test_unknown_type_is_reported_with_those_that_occur(capsys: pytest.CaptureFixture[str]):
    complaint = shown(capsys, TOUR, "--only", "reslut", code=1)
    assert "no line is 'reslut'; there are: " in complaint
    assert "result" in complaint


def test_raw_gives_the_lines_of_the_wire(capfd: pytest.CaptureFixture[str]):
    assert main(["inspect", TOUR, "--raw", "--only", "result"]) == 0
    (line,) = capfd.readouterr().out.splitlines()
    assert json.loads(line)["type"] == "result"


def test_json_has_everything_a_script_wants(capsys: pytest.CaptureFixture[str]):
    report = json.loads(shown(capsys, TOUR, "--json"))
    assert set(report) == {"argv", "started", "entries", "pairs", "turns", "totals"}
    assert (report["totals"]["turns"], report["turns"][0]["tools"]) == (1, 3)
    assert "raw" not in report["entries"][0]
    (only,) = json.loads(shown(capsys, TOUR, "--json", "--raw", "--only", "result"))["entries"]
    assert json.loads(only["raw"])["type"] == "result"


def test_bad_and_unknown_lines_are_flagged(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = written(
        tmp_path,
        {"t": 0, "dir": "out", "raw": "{broken"},
        {"t": 1, "dir": "out", "raw": '{"type":"of_tomorrow"}'},
        {"t": 2, "exit": 0},
    )
    text = shown(capsys, path)
    assert "[bad]" in text
    assert "[unknown]" in text
    assert "bad lines: 1; unknown kinds: of_tomorrow ×1" in text


def test_a_terminal_is_not_made_to_obey_a_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    raw = json.dumps({"type": "user", "message": {"content": "\x1b[2J\x1b]0;owned\x07[bold]x[/bold]\u202e"}})
    text = shown(capsys, written(tmp_path, {"t": 0, "dir": "in", "raw": raw}, {"t": 0, "dir": "err", "raw": "\x9b2J"}))
    assert [mark for mark in ("\x1b", "\x07", "\u202e", "\x9b") if mark in text] == []
    assert "[bold]x[/bold]" in text


def test_html_is_written_to_the_file_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "talk.html"
    assert shown(capsys, TOUR, "--html", out) == f"wrote {out}\n"
    assert out.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("name", ["none.ndjson", "broken.ndjson"])
def test_unreadable_file_is_reported_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str):
    (tmp_path / "broken.ndjson").write_text("nonsense\n")
    complaint = shown(capsys, tmp_path / name, code=1)
    assert (name in complaint, complaint.count("\n")) == (True, 1)


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]):
    assert "handrail inspect talk.ndjson --html talk.html" in shown(capsys, "--help")
