"""`handrail replay` stands in for the CLI: on stdio, for any SDK, with any arguments."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from handrail import Allow, Options, Session
from handrail.cli import main

HANDRAIL = [sys.executable, "-c", "import sys; from handrail.cli import main; sys.exit(main())"]
HEADER = '{"handrail":"recording","version":1,"argv":[],"started":""}\n'
TOUR = Path(str(resources.files("handrail.cli").joinpath("tour.ndjson")))


def written(folder: Path, *rows: object) -> Path:
    path = folder / "talk.ndjson"
    path.write_text(HEADER + "".join(json.dumps(row) + "\n" for row in rows))
    return path


def run(*arguments: str | Path, given: str = "") -> subprocess.CompletedProcess[str]:
    command = [*HANDRAIL, "replay", *map(str, arguments)]
    return subprocess.run(command, input=given, capture_output=True, timeout=60, text=True)


def test_it_speaks_as_recorded_and_ends_as_recorded(tmp_path: Path):
    path = written(
        tmp_path,
        {"t": 0, "dir": "in", "raw": '{"type":"user","uuid":"u"}'},
        {"t": 60, "dir": "out", "raw": '{"type":"result","user_message_uuid":"u"}'},
        {"t": 61, "dir": "err", "raw": "careful"},
        {"t": 62, "dir": "in", "eof": True},
        {"t": 63, "exit": 3},
    )
    ran = run(path, "--output-format", "stream-json", "--verbose", "-p", given='{"type":"user","uuid":"mine"}\n')
    assert (ran.returncode, ran.stdout, ran.stderr) == (
        3,
        '{"type":"result","user_message_uuid":"mine"}\n',
        "careful\n",
    )


def test_a_recorded_death_by_signal_is_died_again(tmp_path: Path):
    path = written(tmp_path, {"t": 0, "exit": None, "signal": "SIGKILL"})
    assert run(path).returncode == -signal.SIGKILL


def test_a_process_that_ended_by_itself_does_not_wait_for_its_input(tmp_path: Path):
    path = written(tmp_path, {"t": 0, "dir": "err", "raw": "bad flag"}, {"t": 0, "exit": 1})
    with subprocess.Popen([*HANDRAIL, "replay", str(path)], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr
        assert process.stderr.read() == b"bad flag\n"
        assert process.wait(60) == 1


def told(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """The same without a process of its own, for what never gets to play."""
    code = main(["replay", *map(str, arguments)])
    return (code, *capsys.readouterr())


def test_speed_is_read_before_and_after_the_file_and_times_are_kept(tmp_path: Path):
    path = written(
        tmp_path,
        {"t": 0, "dir": "out", "raw": "a"},
        {"t": 100, "dir": "out", "raw": "b"},
        {"t": 100, "exit": 0},
    )
    for arguments in ((path, "--speed", "10000"), (path, "--speed=10000", "--verbose"), ("--speed", "10000", path)):
        assert run(*arguments).stdout == "a\nb\n"


@pytest.mark.parametrize("wrong", [("--speed", "fast"), ("--speed",), ("--speed=-1",), ("--speed", "nan")])
def test_a_speed_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: tuple[str, ...]):
    code, _, said = told(capsys, written(tmp_path, {"t": 0, "exit": 0}), *wrong)
    assert (code, said) == (2, "handrail replay: --speed wants a number that is not negative\n")


def test_a_request_is_answered_while_a_row_waits_for_its_time(tmp_path: Path):
    path = written(tmp_path, {"t": 1000, "dir": "out", "raw": "late"}, {"t": 1000, "exit": 0})
    request = b'{"type":"control_request","request_id":"a","request":{"subtype":"interrupt"}}\n'
    with subprocess.Popen(
        [*HANDRAIL, "replay", str(path), "--speed", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(request)
        process.stdin.flush()
        assert b"not_in_recording" in process.stdout.readline()
        process.kill()


def test_client_that_exits_early_learns_which_line_was_expected(tmp_path: Path):
    path = written(tmp_path, {"t": 0, "dir": "in", "raw": '{"type":"user"}'}, {"t": 0, "exit": 0})
    assert run(path).stderr == "handrail replay: the input ended, but the recording waited for: user\n"


def test_the_version_is_that_of_the_recorded_cli(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = written(tmp_path, {"t": 0, "dir": "out", "raw": '{"claude_code_version":"2.1.325"}'}, {"t": 0, "exit": 0})
    assert [told(capsys, path, flag)[1].split()[0] for flag in ("-v", "--version")] == ["2.1.325", "2.1.325"]
    assert told(capsys, "--version")[0] == 0


def test_a_version_flag_among_the_clis_arguments_is_ignored(tmp_path: Path):
    path = written(tmp_path, {"t": 0, "dir": "out", "raw": "{}"}, {"t": 0, "exit": 0})
    assert run(path, "--append-system-prompt", "--version").stdout == "{}\n"


@pytest.mark.parametrize(
    ("names", "code", "said"),
    [((), 2, "which recording?"), (("none",), 1, "none: No such file"), (("broken",), 1, "broken:1: not a recording")],
)
def test_unplayable_recording_is_reported_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], names: tuple[str, ...], code: int, said: str
):
    (tmp_path / "broken").write_text("nonsense\n")
    ended, _, complaint = told(capsys, *(tmp_path / name for name in names))
    assert (ended, said in complaint, complaint.count("\n")) == (code, True, 1)


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]):
    assert "exec handrail replay talk.ndjson" in told(capsys, "--help")[1]


async def test_a_session_takes_it_for_the_cli(tmp_path: Path):
    cli = tmp_path / "claude"
    program = "import sys; from handrail.cli import main; sys.exit(main())"
    cli.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{program}" replay {TOUR} "$@"\n')
    cli.chmod(0o755)
    asked: list[str] = []

    def permit(request: object) -> Allow:
        asked.append(getattr(request, "tool_name", ""))
        return Allow()

    options = Options(cli_path=cli, can_use_tool=permit, include_partial_messages=True)
    async with asyncio.timeout(60), Session(options) as session:
        turn = await session.send("go")
        async for _ in turn:
            pass
        assert turn.result
        assert (turn.result.text.startswith("Both tests pass now."), asked) == (True, ["Edit", "Bash"])
