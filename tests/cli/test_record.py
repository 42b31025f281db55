"""`handrail record` is not noticed by either side, and misses nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.cli import main
from handrail.transport.recording_file import Recording, read_recording

HANDRAIL = [sys.executable, "-c", "import sys; from handrail.cli import main; sys.exit(main())"]
RECORD = [*HANDRAIL, "record"]


def run(
    *arguments: str | Path, given: bytes = b"", cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    command = [*RECORD, *map(str, arguments)]
    return subprocess.run(command, input=given, capture_output=True, timeout=60, cwd=cwd, env=env)


def wire(recording: Recording, direction: str) -> bytes:
    return b"".join(row.wire for row in recording.rows if row.dir == direction)


def test_bytes_pass_unchanged_in_both_directions_and_are_recorded(tmp_path: Path):
    path, given = tmp_path / "talk.ndjson", b"plain\r\n\xff\xfe binary\n\nno newline at the end"
    ran = run("-o", path, "--", "cat", given=given)
    recording = read_recording(path)
    assert (ran.returncode, ran.stdout) == (0, given)
    assert (wire(recording, "in"), wire(recording, "out")) == (given, given)
    assert any(row.eof for row in recording.rows)
    assert recording.end is not None
    assert recording.end.code == 0
    assert recording.header.argv == ("cat",)
    assert f"recorded to {path}: 8 lines" in ran.stderr.decode()


def test_much_data_passes_without_a_deadlock(tmp_path: Path):
    path, given = tmp_path / "talk.ndjson", b"x" * 1000 + b"\n"
    ran = run("-o", path, "--", "cat", given=given * 3000)
    assert (ran.returncode, ran.stdout == given * 3000) == (0, True)
    assert wire(read_recording(path), "out") == given * 3000


def test_stderr_and_the_exit_code_pass_through_and_are_recorded(tmp_path: Path):
    path = tmp_path / "talk.ndjson"
    ran = run("-o", path, "--", "sh", "-c", "echo out; echo oops >&2; exit 7")
    recording = read_recording(path)
    assert (ran.returncode, ran.stdout) == (7, b"out\n")
    assert ran.stderr.startswith(b"oops\n")
    assert (wire(recording, "err"), recording.end and recording.end.code) == (b"oops\n", 7)


def test_a_child_killed_by_a_signal_takes_us_with_it(tmp_path: Path):
    path = tmp_path / "talk.ndjson"
    ran = run("-o", path, "--", "sh", "-c", "kill -9 $$")
    end = read_recording(path).end
    assert (ran.returncode, end and end.signal) == (-signal.SIGKILL, "SIGKILL")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_reach_the_child(tmp_path: Path, number: signal.Signals):
    path = tmp_path / "talk.ndjson"
    script = f"trap 'echo caught; exit 5' {number.name.removeprefix('SIG')}; echo ready; while :; do sleep 0.05; done"
    with subprocess.Popen(
        [*RECORD, "-o", str(path), "--", "sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(
            number, signal.SIG_DFL
        ),  # the run may stand under nohup, and sh would heed that
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (5, b"caught\n")
    end = read_recording(path).end
    assert end is not None
    assert end.code == 5


def test_the_end_of_the_childs_output_is_seen_while_it_still_runs(tmp_path: Path):
    script = "exec 1>&-; cat >&2"
    with subprocess.Popen(
        [*RECORD, "-o", str(tmp_path / "talk.ndjson"), "--", "sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stdout.read() == b""
        assert process.poll() is None
        _, errors = process.communicate(b"later", timeout=60)
    assert errors.startswith(b"later")


def test_a_reader_that_comes_late_still_gets_everything(tmp_path: Path):
    line = "x" * 99
    script = f"i=0; while [ $i -lt 1000 ]; do echo {line}; i=$((i+1)); done; echo done >&2"
    with subprocess.Popen(
        [*RECORD, "-o", str(tmp_path / "talk.ndjson"), "--", "sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stderr
        with pytest.raises(subprocess.TimeoutExpired):  # nobody reads, so it cannot end
            process.wait(2)
        assert process.stdout.read() == (line + "\n").encode() * 1000
        process.communicate(timeout=60)
    assert process.returncode == 0


def test_a_grandchild_that_holds_the_pipes_does_not_keep_us(tmp_path: Path):
    ran = run("-o", tmp_path / "talk.ndjson", "--", "sh", "-c", "(sleep 30; echo late) & echo pid $!; exit 3")
    os.kill(int(ran.stdout.split()[1]), signal.SIGKILL)
    assert ran.returncode == 3


def test_secrets_of_the_environment_are_masked_but_pass(tmp_path: Path):
    path = tmp_path / "talk.ndjson"
    env = {**os.environ, "SOME_API_KEY": "very-secret-value"}
    ran = run("-o", path, "--", "sh", "-c", "echo $SOME_API_KEY", "--token", "abc-def", env=env)
    assert ran.stdout == b"very-secret-value\n"
    assert (b"very-secret-value" in path.read_bytes(), b"abc-def" in path.read_bytes()) == (False, False)
    assert wire(read_recording(path), "out") == b"***\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_older_recording_is_kept_unless_forced(tmp_path: Path):
    path = tmp_path / "talk.ndjson"
    path.write_text("old")
    refused = run("-o", path, "--", "echo", "new")
    assert (refused.returncode, refused.stdout, path.read_text()) == (2, b"", "old")
    assert b"exists" in refused.stderr
    assert b"--force" in refused.stderr
    assert run("-o", path, "--force", "--", "echo", "new").returncode == 0
    assert wire(read_recording(path), "out") == b"new\n"


def test_without_a_name_or_with_a_folder_one_is_chosen(tmp_path: Path):
    folder = tmp_path / "recordings"
    folder.mkdir()
    run("--", "true", cwd=tmp_path)
    run("-o", folder, "--", "true")
    assert [len(list(place.glob("recording-*.ndjson"))) for place in (tmp_path, folder)] == [1, 1]


def test_a_command_that_is_not_there_is_told_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    code = main(["record", "-o", str(tmp_path / "talk.ndjson"), "--", "no-such-command-anywhere"])
    assert (code, list(tmp_path.iterdir())) == (127, [])
    assert capsys.readouterr().err == "handrail record: no-such-command-anywhere: no such executable\n"


def test_a_folder_that_is_not_there_is_told_without_a_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "none" / "talk.ndjson"
    assert main(["record", "-o", str(path), "--", "true"]) == 2
    assert capsys.readouterr().err == f"handrail record: {path}: No such file or directory\n"


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]):
    assert main(["record", "--help"]) == 0
    assert "handrail record -o talk.ndjson -- claude" in capsys.readouterr().out
