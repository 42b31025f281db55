"""The Bash tool, with a real bash."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from handrail.agent.tools.base import ToolFailed
from handrail.agent.tools.bash import expects_no_output, long_sleep, meaning_of
from tests.agent.tools.workplace import Background, call, desk_in, fill, mode_of, text_in


async def test_surrounding_blank_lines_are_stripped_from_output(tmp_path: Path):
    outcome = await call(desk_in(tmp_path), "Bash", command="printf '\\n\\n  a\\nb\\n\\n'")
    assert outcome.content == "  a\nb"
    assert outcome.detail == {
        "stdout": "  a\nb",
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
    }


async def test_stdout_and_stderr_are_interleaved_in_order(tmp_path: Path):
    outcome = await call(desk_in(tmp_path), "Bash", command="echo out; echo err >&2; echo again")
    assert outcome.content == "out\nerr\nagain"


async def test_failure_returns_exit_code_and_output(tmp_path: Path):
    outcome = await call(desk_in(tmp_path), "Bash", command="echo out; echo err >&2; exit 3")
    assert outcome.is_error
    assert outcome.content == "Exit code 3\nout\nerr"
    assert outcome.detail == "Error: Exit code 3\nout\nerr"


async def test_exit_code_after_a_signal_is_128_plus_its_number(tmp_path: Path):
    assert (await call(desk_in(tmp_path), "Bash", command="kill -9 $$")).content == "Exit code 137"


async def test_empty_output_is_reported(tmp_path: Path):
    desk = desk_in(tmp_path)
    touched = await call(desk, "Bash", command="touch a && mkdir b")
    assert (touched.content, touched.detail["noOutputExpected"]) == ("(Bash completed with no output)", True)
    assert (await call(desk, "Bash", command="ls b")).detail["noOutputExpected"] is False


async def test_grep_without_matches_is_not_an_error(tmp_path: Path):
    outcome = await call(desk_in(tmp_path), "Bash", command="echo a | grep b")
    assert not outcome.is_error
    assert outcome.detail["returnCodeInterpretation"] == "No matches found"
    assert (await call(desk_in(tmp_path), "Bash", command="grep b /nonexistent")).is_error


async def test_stdin_is_empty(tmp_path: Path):
    assert (await call(desk_in(tmp_path), "Bash", command="cat; echo end")).content == "end"


async def test_working_folder_persists_and_variables_do_not(tmp_path: Path):
    desk = desk_in(tmp_path)
    await call(desk, "Bash", command="mkdir -p 'd e'; cd 'd e'; export LOST=1")
    assert (await call(desk, "Bash", command='pwd; echo "[$LOST]"')).content == f"{desk.project}/d e\n[]"


async def test_cd_out_of_the_project_is_reset_with_a_note(tmp_path: Path):
    desk = desk_in(tmp_path)
    outcome = await call(desk, "Bash", command="cd /; pwd")
    assert outcome.content == f"/\nShell cwd was reset to {desk.project}"
    assert outcome.detail["stderr"] == f"\nShell cwd was reset to {desk.project}"
    assert desk.cwd == desk.project


async def test_cd_into_an_additional_folder_persists(tmp_path: Path):
    (tmp_path / "more").mkdir()
    desk = desk_in(tmp_path, additional=(str(tmp_path / "more"),))
    await call(desk, "Bash", command=f"cd {tmp_path}/more")
    assert desk.cwd == str(tmp_path / "more")


async def test_deleted_working_folder_falls_back_to_the_project(tmp_path: Path):
    desk = desk_in(tmp_path)
    await call(desk, "Bash", command="mkdir d && cd d")
    os.rmdir(desk.cwd)
    assert (await call(desk, "Bash", command="pwd")).content == desk.project


async def test_command_cannot_forge_its_working_folder(tmp_path: Path):
    desk = desk_in(tmp_path)
    await call(desk, "Bash", command='for n in /proc/self/fd/*; do echo /etc >&"${n##*/}"; done 2>/dev/null; true')
    assert desk.cwd == desk.project


async def test_environment_of_the_desk_reaches_the_command(tmp_path: Path):
    desk = desk_in(tmp_path)
    desk.environment["GREETING"] = "good day"
    assert (await call(desk, "Bash", command='echo "$GREETING"')).content == "good day"


async def test_large_output_is_saved_to_a_file(tmp_path: Path):
    outcome = await call(desk_in(tmp_path), "Bash", command="seq 1 40000")
    path = Path(outcome.detail["persistedOutputPath"])
    assert path.parent == tmp_path / "results"
    assert mode_of(path) == 0o600
    assert text_in(path).split() == [str(number) for number in range(1, 40001)]
    assert outcome.detail["persistedOutputSize"] == len(text_in(path))
    assert len(outcome.detail["stdout"]) <= 30_000
    assert outcome.content.startswith(f"<persisted-output>\nOutput too large (223.5KB). Full output saved to: {path}")
    assert len(outcome.content) < 3000


async def test_output_just_over_the_limit_is_saved_to_a_file(tmp_path: Path):
    desk = desk_in(tmp_path)
    desk.environment["BASH_MAX_OUTPUT_LENGTH"] = "10"
    outcome = await call(desk, "Bash", command="echo 123456789012")
    assert text_in(outcome.detail["persistedOutputPath"]) == "123456789012\n"
    assert outcome.detail["stdout"] == "1234567890"


async def test_large_output_of_a_failure_is_truncated_and_saved(tmp_path: Path):
    outcome = await call(desk_in(tmp_path), "Bash", command="seq 1 40000; exit 4")
    (path,) = (tmp_path / "results").iterdir()
    assert outcome.content.startswith("Exit code 4\n1\n2\n")
    assert str(path) in outcome.content
    assert len(outcome.content) < 31_000


async def test_truncation_without_a_results_folder_is_reported(tmp_path: Path):
    outcome = await call(desk_in(tmp_path, results_folder=""), "Bash", command="seq 1 400000")
    assert outcome.content.endswith("the rest is lost]")


async def test_timeout_terminates_the_command_without_background_tasks(tmp_path: Path):
    outcome = await call(desk_in(tmp_path), "Bash", command="echo a; while :; do sleep 1; done", timeout=300)
    assert outcome.is_error
    assert outcome.content == "Command timed out after 0.3s and was ended\na"


async def test_timeout_moves_the_command_to_the_background(tmp_path: Path):
    tasks = Background(tmp_path)
    os.mkfifo(tmp_path / "go")
    desk = desk_in(tmp_path, tasks=tasks)
    outcome = await call(desk, "Bash", command=f"echo a; read x < {tmp_path}/go; echo $x", timeout=300)
    assert not outcome.is_error
    assert outcome.content.startswith("a\nCommand did not complete within its 0.3s timeout")
    assert (outcome.detail["backgroundTaskId"], outcome.detail["timedOutAfterMs"]) == ("b1", 300)
    await asyncio.to_thread((tmp_path / "go").write_text, "b\n")
    async with asyncio.timeout(10):
        status, summary = await tasks.tasks[0]
    assert (status, "completed (exit code 0)" in summary) == ("completed", True)
    assert text_in(tasks.folder / "0.output") == "a\nb\n\n[exited with code 0]\n"


async def test_background_command_writes_to_its_output_file(tmp_path: Path):
    tasks = Background(tmp_path)
    desk = desk_in(tmp_path, tasks=tasks)
    outcome = await call(desk, "Bash", command="echo x; exit 2", run_in_background=True, description="two")
    assert outcome.content.startswith(
        f"Command running in background with ID: b1. Output is being written to: {tmp_path}"
    )
    assert outcome.detail["backgroundTaskId"] == "b1"
    async with asyncio.timeout(10):
        assert await tasks.tasks[0] == ("failed", 'Background command "two" failed with exit code 2')
    assert (tmp_path / "0.output").read_text() == "x\n\n[exited with code 2]\n"


async def test_cancelled_background_command_is_terminated(tmp_path: Path):
    tasks = Background(tmp_path)
    os.mkfifo(tmp_path / "alive")
    desk = desk_in(tmp_path, tasks=tasks)
    await call(desk, "Bash", command=f"exec 9>{tmp_path}/alive; while :; do sleep 1; done", run_in_background=True)
    reader = await asyncio.to_thread(os.open, tmp_path / "alive", os.O_RDONLY)
    tasks.tasks[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks.tasks[0]
    assert await asyncio.wait_for(asyncio.to_thread(os.read, reader, 1), 10) == b""
    os.close(reader)


@pytest.mark.parametrize(
    "start",
    [
        "setsid {hidden} &",
        "env -i setsid {hidden} &",
        "nohup {hidden} > /dev/null &",
        "(setsid env -i {hidden} <&- >&- 2>&- &);",
        "(setsid env -i bash -c '(setsid {hidden} &)' &);",
    ],
)
async def test_stopped_background_command_leaves_no_hidden_processes(tmp_path: Path, start: str):
    tasks = Background(tmp_path)
    script = tmp_path / "hidden"
    opens = f"exec 9>{tmp_path}/alive; echo >&9"
    script.write_text(f"trap : TERM HUP\n{opens}\nwhile :; do /bin/sleep 1; done\n")
    os.mkfifo(tmp_path / "alive")
    first_writer = os.open(tmp_path / "alive", os.O_RDWR)
    async with asyncio.timeout(60), reading(tmp_path / "alive") as stream:
        command = f"{start.format(hidden=f'/bin/bash {script}')} sleep 1000"
        await call(desk_in(tmp_path, tasks=tasks), "Bash", command=command, run_in_background=True)
        await asyncio.sleep(0)  # lets the task begin, even if the byte is there already
        assert await stream.read(1) == b"\n"
        os.close(first_writer)
        tasks.tasks[0].cancel()
        assert await stream.read() == b""


@asynccontextmanager
async def reading(fifo: Path) -> AsyncIterator[asyncio.StreamReader]:
    """A stream that ends when the last writer of a named pipe has exited."""
    stream = asyncio.StreamReader()
    file = os.fdopen(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK), "rb")
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), file
    )
    try:
        yield stream
    finally:
        transport.close()


async def test_background_is_refused_without_background_tasks(tmp_path: Path):
    with pytest.raises(ToolFailed, match="background"):
        await call(desk_in(tmp_path), "Bash", command="echo a", run_in_background=True)


@pytest.mark.parametrize("command", ["sleep 30", "sleep 25; echo x", "sleep 1m && true", " sleep 1h"])
async def test_leading_long_sleep_is_refused(tmp_path: Path, command: str):
    outcome = await call(desk_in(tmp_path, tasks=Background(tmp_path)), "Bash", command=command)
    assert outcome.is_error
    assert str(outcome.content).startswith("<tool_use_error>Blocked: ")


async def test_short_sleep_runs(tmp_path: Path):
    assert (await call(desk_in(tmp_path), "Bash", command="sleep 0.01; echo y")).content == "y"


@pytest.mark.parametrize("start", ["", "setsid ", "nohup "])
async def test_cancelled_command_leaves_no_processes(tmp_path: Path, start: str):
    os.mkfifo(tmp_path / "alive")
    desk = desk_in(tmp_path)
    inner = f"trap : TERM; exec 9>{tmp_path}/alive; while :; do sleep 1; done"
    running = asyncio.create_task(call(desk, "Bash", command=f"{start}bash -c '{inner}' & wait"))
    # Opening the pipe blocks until the innermost process runs; it reads EOF when the last writer has exited.
    reader = await asyncio.wait_for(asyncio.to_thread(os.open, tmp_path / "alive", os.O_RDONLY), 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await asyncio.wait_for(asyncio.to_thread(os.read, reader, 1), 10) == b""
    os.close(reader)


async def test_background_jobs_of_the_shell_are_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "go")
    desk = desk_in(tmp_path)
    outcome = await call(desk, "Bash", command=f"(read x < {tmp_path}/go; echo $x > done; echo noise) & echo now")
    assert outcome.content == "now"
    await asyncio.to_thread((tmp_path / "go").write_text, "later\n")


async def test_nul_in_a_command_is_rejected(tmp_path: Path):
    with pytest.raises(ToolFailed, match="NUL"):
        await call(desk_in(tmp_path), "Bash", command="echo \x00")


async def test_unpaired_surrogate_in_a_command_is_rejected(tmp_path: Path):
    with pytest.raises(ToolFailed, match="unpaired surrogate"):
        await call(desk_in(tmp_path), "Bash", command="echo \ud800")


async def test_no_file_descriptors_leak(tmp_path: Path):
    desk = desk_in(tmp_path)
    await call(desk, "Bash", command="true")
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        await call(desk, "Bash", command="echo a; false")
    assert len(os.listdir("/proc/self/fd")) <= len(before)


@pytest.mark.parametrize(
    "command", ["sleep 5; echo x", "sleep 24", "echo; sleep 99", "sleep 30 & wait", "sleepy 99", ""]
)
def test_short_sleeps_and_other_commands_are_not_refused(command: str):
    assert long_sleep(command) == ""


def test_refusal_of_a_long_sleep_names_the_following_command():
    assert long_sleep("sleep 60 && make").startswith("Blocked: sleep 60 followed by: make.")


def test_no_output_is_expected_of_silent_programs_only():
    assert expects_no_output("mkdir -p a && cd a; touch b")
    assert not expects_no_output("touch a; ls")


def test_exit_code_1_of_some_programs_is_a_result():
    assert meaning_of("ls | grep x", 1) == "No matches found"
    assert meaning_of("diff a b", 1) == "Files differ"
    assert meaning_of("grep x", 2) == ""
    assert meaning_of("grep x; make", 1) == ""


@pytest.mark.parametrize(
    "command",
    ["sed -i s/one/two/ a.txt", "python3 -c \"open('a.txt', 'a').write('more')\"", "cp b.txt a.txt; false"],
)
async def test_model_is_notified_of_read_files_that_a_command_changed(tmp_path: Path, command: str):
    desk = desk_in(tmp_path)
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / "project" / name).write_text(f"one {name}\n")
    for name in ("a.txt", "b.txt"):
        await call(desk, "Read", file_path=name)
    outcome = await call(desk, "Bash", command=f"touch c.txt; {command}")
    assert str(outcome.content).endswith(
        "[Files that you had read changed while this ran: a.txt. Read them before editing them.]"
    )
    assert "changed while this ran" not in str((await call(desk, "Bash", command="rm b.txt; cat a.txt")).content)


async def test_many_changed_files_are_counted(tmp_path: Path):
    desk = desk_in(tmp_path)
    for number in range(12):
        (tmp_path / "project" / f"{number}.txt").write_text("one\n")
        await call(desk, "Read", file_path=f"{number}.txt")
    outcome = await call(desk, "Bash", command="sed -i s/one/two/ *.txt")
    assert "0.txt, 1.txt," in str(outcome.content)
    assert "9.txt and 2 more." in str(outcome.content)


async def test_output_of_a_running_command_is_reported(tmp_path: Path):
    desk = desk_in(tmp_path)
    reports: list[tuple[str, str]] = []
    reported = asyncio.Event()

    async def report(call_id: str, output: str, seconds: float) -> None:
        reports.append((call_id, output))
        fill(tmp_path / "project" / "go", "")
        reported.set()

    desk.call_id, desk.report_output = "call-1", report
    outcome = await call(desk, "Bash", command="echo first; until [ -e go ]; do sleep 0.02; done; echo last")
    assert reported.is_set()
    assert reports[0] == ("call-1", "first\n")
    assert outcome.content == "first\nlast"
