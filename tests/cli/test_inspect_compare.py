"""`handrail inspect A B` compares recordings, and requests to the Messages API."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.cli import main
from handrail.testing import ReceivedRequest, read_requests, write_requests
from tests.cli.test_inspect import HEADER, TOUR

AGENT = str(Path(sys.executable).with_name("handrail-agent"))
IDS = ("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "0ba7b810-9dad-11d1-80b4-00c04fd430c0")


def recording(path: Path, *lines: dict[str, Any], code: int = 0) -> Path:
    rows = [{"t": 0.1, "dir": line.pop("dir", "out"), "raw": json.dumps(line)} for line in map(dict, lines)]
    rows.append({"t": 0.5, "exit": code})
    path.write_text(HEADER + "".join(json.dumps(row) + "\n" for row in rows))
    return path


def system(subtype: str, **fields: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": subtype, **fields}


def compared(capsys: pytest.CaptureFixture[str], folder: Path, a: list[Any], b: list[Any], *flags: str) -> Any:
    files = (recording(folder / "a", *a), recording(folder / "b", *b))
    code = main(["inspect", *map(str, files), "--json", *flags])
    found = json.loads(capsys.readouterr().out)
    differs = any(found[name] for name in ("only_in_a", "only_in_b", "moved", "changed"))
    assert code == (1 if differs else 0)
    return found


def test_same_recording_has_no_difference(capsys: pytest.CaptureFixture[str]):
    assert main(["inspect", TOUR, TOUR]) == 0
    [line] = capsys.readouterr().out.splitlines()
    assert line.endswith(
        " lines agree, 0 only in the first, 0 only in the second, 0 in another place, 0 with other fields"
    )


def test_ids_and_times_are_ignored(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    a, b = (
        [system("x", uuid=id, session_id=id, duration_ms=at, timestamp=at, text=f"see {id} of 2026-01-0{at}T00:00:00Z")]
        for at, id in enumerate(IDS, 1)
    )
    assert compared(capsys, tmp_path, a, b)["agree"] == 2


def test_lines_of_one_side_and_other_places_are_found(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    one, two, three, four = (system(name) for name in ("one", "two", "three", "four"))
    found = compared(capsys, tmp_path, [one, two, three], [one, three, four, {"dir": "in", "type": "user"}])
    assert [(place["number"], place["kind"]) for place in found["only_in_a"]] == [(2, "system/two")]
    assert [(place["dir"], place["kind"]) for place in found["only_in_b"]] == [("out", "system/four"), ("in", "user")]
    found = compared(capsys, tmp_path, [one, two, three, four], [four, one, two, three])
    [moved] = found["moved"]
    assert (moved["kind"], moved["number"], moved["other"]) == ("system/four", 4, 1)
    assert (found["agree"], found["only_in_a"], found["only_in_b"]) == (4, [], [])


def test_lines_of_one_kind_are_aligned_by_what_they_hold(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    lines = [system("x", text=word) for word in "abcde"]
    found = compared(capsys, tmp_path, lines, [lines[0], *lines[2:]])
    assert [place["number"] for place in found["only_in_a"]] == [2]
    assert not found["changed"]


def test_fields_are_compared(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    a = system("x", tools=["A", "B"], deep={"a": 1, "gone": {"x": 1, "y": 2}}, n=None, items=[{"v": 1}, {"v": 2}])
    b = system("x", tools=["C", "B"], deep={"a": 2, "new": 3}, n=None, items=[{"v": 1}])
    [change] = compared(capsys, tmp_path, [a], [b])["changed"]
    assert change["changed"] == {"deep.a": [1, 2]}
    assert change["only_in_a"] == ["tools[A]", "deep.gone", "items[1]"]
    assert change["only_in_b"] == ["tools[C]", "deep.new"]


def test_deltas_are_compared_as_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    def deltas(*parts: str) -> list[dict[str, Any]]:
        event = "content_block_delta"
        return [
            {"type": "stream_event", "event": {"type": event, "delta": {"type": "text_delta", "text": part}}}
            for part in parts
        ]

    assert compared(capsys, tmp_path, deltas("ab", "c"), deltas("a", "b", "c"))["agree"] == 2


def test_exit_code_is_compared(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    a, b = recording(tmp_path / "a", system("x")), recording(tmp_path / "b", system("x"), code=3)
    assert main(["inspect", str(a), str(b)]) == 1
    assert '~ ending: "exit code 0" | "exit code 3"' in capsys.readouterr().out
    assert main(["inspect", str(a), str(b), "--only", "out"]) == 0


def test_text_output_names_each_difference(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    a = recording(tmp_path / "a", system("one"), system("x", text="y" * 500), system("last", many=list(range(40))))
    b = recording(tmp_path / "b", system("x", text="z" * 500), system("last", many=[0]), system("new\x1b[31m"))
    assert main(["inspect", str(a), str(b)]) == 1
    text = capsys.readouterr().out
    for part in (
        "-     1       ← system/one",
        "~     2     1 ← system/x",
        "(500 characters)",
        "- … 19 more",
        "+           3",
    ):
        assert part in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["a", "b", "c"], "3 files were given"),
        (["a", "b", "--raw"], "for one recording"),
        (["a", "b", "--html", "x"], "for one recording"),
        (["a", "--script", "x"], "--script needs --requests"),
        (["a", "missing"], "missing: No such file"),
        (["a", "other"], "other:1"),
        (["a", "requests"], "one file has requests"),
        (["requests", "bad"], "bad:2: not a request"),
        (["--requests", "out", "--", "./missing"], "./missing: No such file"),
        (["--requests", "out", "--script", "other", "--", "true"], "other"),
    ],
)
def test_mistakes_are_explained(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, flags: list[str], words: str
):
    monkeypatch.chdir(tmp_path)
    for name in "abc":
        recording(tmp_path / name, system("x"))
    (tmp_path / "other").write_text("nothing\n")
    write_requests(Path("requests"), [])
    (tmp_path / "bad").write_bytes((tmp_path / "requests").read_bytes() + b"{}\n")
    assert main(["inspect", *flags]) == 2
    assert words in capsys.readouterr().err


def asked(model: str, *tools: str, main: bool = True) -> ReceivedRequest:
    offered = [{"name": name, "description": name * 3} for name in tools]
    body = {"model": model, "messages": [{"role": "user", "content": "Hi"}], "tools": offered}
    return ReceivedRequest(body, {"anthropic-beta": "one,two"}, main)


def test_requests_are_written_read_and_compared(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    a, b = tmp_path / "a", tmp_path / "b"
    requests = [asked("m", "A", "B"), asked("small", main=False)]
    write_requests(a, requests, argv=["claude", "--api-key", "sk-ant-" + "a1" * 20])
    write_requests(b, [asked("m", "B", "C")])
    assert read_requests(a) == requests
    assert stat.S_IMODE(a.stat().st_mode) == 0o600
    assert b"a1a1" not in a.read_bytes()
    assert main(["inspect", str(a)]) == 0
    assert "2 tools" in capsys.readouterr().out
    assert main(["inspect", str(a), str(b), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [place["kind"] for place in found["only_in_a"]] == ["side request"]
    [change] = found["changed"]
    assert (change["only_in_a"], change["only_in_b"], change["changed"]) == (["tools[A]"], ["tools[C]"], {})


def test_requests_of_a_cli_are_recorded(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-" + "b2" * 20)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "script").write_text(json.dumps({"replies": [{"blocks": [{"type": "text", "text": "Hello."}]}]}))
    given = ["--requests", "out", "--script", "script", "--", AGENT, "-p", "Say hello."]
    assert main(["inspect", *given]) == 0
    out, err = capfd.readouterr()
    assert out.strip() == "Hello."
    assert "wrote 1 requests to out" in err
    [request] = read_requests(tmp_path / "out")
    assert "Say hello." in str(request.messages)
    assert "b2b2" not in (tmp_path / "out").read_text()


def test_exit_code_of_the_cli_is_passed_on(capfd: pytest.CaptureFixture[str], tmp_path: Path):
    assert main(["inspect", "--requests", str(tmp_path / "out"), "--", "sh", "-c", "exit 7"]) == 7
    assert main(["inspect", "--requests", str(tmp_path / "out"), "--", "sh", "-c", "kill -TERM $$"]) == 143
    assert read_requests(tmp_path / "out") == []
