"""Commands in a real bash."""

import asyncio
import os
from pathlib import Path

import pytest

from handrail.agent.tools.base import ToolFailed
from tests.agent.tools.workplace import Background, call, desk_in, mode_of, text_in


async def test_what_a_command_prints_is_shown_without_the_line_ends_around(tmp_path: Path):
    outcome = await call(desk_in(tmp_path), "Bash", command="printf '\\n\\n  a\\nb\\n\\n'")
    assert outcome.content == "  a\nb"
    assert outcome.detail == {
        "stdout": "  a\nb",
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
    }


async def test_both_outputs_are_one_in_the_order_they_came(tmp_path: Path):
    outcome = await call(desk_in(tmp_path), "Bash", command="echo out; echo err >&2; echo again")
    assert outcome.content == "out\nerr\nagain"


async def test_a_failed_command_tells_its_code_and_its_output(tmp_path: Path):
    outcome = await call(desk_in(tmp_path), "Bash", command="echo out; echo err >&2; exit 3")
    assert outcome.is_error
    assert outcome.content == "Exit code 3\nout\nerr"
    assert outcome.detail == "Error: Exit code 3\nout\nerr"


async def test_a_command_that_a_signal_ended_has_128_more(tmp_path: Path):
    assert (await call(desk_in(tmp_path), "Bash", command="kill -9 $$")).content == "Exit code 137"


async def test_a_command_without_output_says_so(tmp_path: Path):
    desk = desk_in(tmp_path)
    touched = await call(desk, "Bash", command="touch a && mkdir b")
    assert (touched.content, touched.detail["noOutputExpected"]) == ("(Bash completed with no output)", True)
    assert (await call(desk, "Bash", command="ls b")).detail["noOutputExpected"] is False


async def test_an_exit_code_that_is_an_answer_is_no_failure(tmp_path: Path):
    outcome = await call(desk_in(tmp_path), "Bash", command="echo a | grep b")
    assert not outcome.is_error
    assert outcome.detail["returnCodeInterpretation"] == "No matches found"
    assert (await call(desk_in(tmp_path), "Bash", command="grep b /nonexistent")).is_error


async def test_there_is_nothing_to_read_from(tmp_path: Path):
    assert (await call(desk_in(tmp_path), "Bash", command="cat; echo end")).content == "end"


async def test_the_folder_stays_and_the_variables_do_not(tmp_path: Path):
    desk = desk_in(tmp_path)
    await call(desk, "Bash", command="mkdir -p 'd e'; cd 'd e'; export LOST=1")
    assert (await call(desk, "Bash", command='pwd; echo "[$LOST]"')).content == f"{desk.project}/d e\n[]"


async def test_a_folder_outside_is_left_again_with_a_note(tmp_path: Path):
    desk = desk_in(tmp_path)
    outcome = await call(desk, "Bash", command="cd /; pwd")
    assert outcome.content == f"/\nShell cwd was reset to {desk.project}"
    assert outcome.detail["stderr"] == f"\nShell cwd was reset to {desk.project}"
    assert desk.cwd == desk.project


async def test_an_additional_folder_may_be_gone_to(tmp_path: Path):
    (tmp_path / "more").mkdir()
    desk = desk_in(tmp_path, additional=(str(tmp_path / "more"),))
    await call(desk, "Bash", command=f"cd {tmp_path}/more")
    assert desk.cwd == str(tmp_path / "more")


async def test_a_folder_that_is_gone_is_left_for_the_project(tmp_path: Path):
    desk = desk_in(tmp_path)
    await call(desk, "Bash", command="mkdir d && cd d")
    os.rmdir(desk.cwd)
    assert (await call(desk, "Bash", command="pwd")).content == desk.project


async def test_a_command_cannot_say_in_which_folder_it_ended(tmp_path: Path):
    desk = desk_in(tmp_path)
    await call(desk, "Bash", command='for n in /proc/self/fd/*; do echo /etc >&"${n##*/}"; done 2>/dev/null; true')
    assert desk.cwd == desk.project


async def test_variables_of_the_desk_reach_the_command(tmp_path: Path):
    desk = desk_in(tmp_path)
    desk.environment["GREETING"] = "good day"
    assert (await call(desk, "Bash", command='echo "$GREETING"')).content == "good day"


async def test_a_large_output_lies_in_a_file_that_is_named(tmp_path: Path):
    outcome = await call(desk_in(tmp_path), "Bash", command="seq 1 40000")
    path = Path(outcome.detail["persistedOutputPath"])
    assert path.parent == tmp_path / "results"
    assert mode_of(path) == 0o600
    assert text_in(path).split() == [str(number) for number in range(1, 40001)]
    assert outcome.detail["persistedOutputSize"] == len(text_in(path))
    assert len(outcome.detail["stdout"]) <= 30_000
    assert outcome.content.startswith(f"<persisted-output>\nOutput too large (223.5KB). Full output saved to: {path}")
    assert len(outcome.content) < 3000


async def test_an_output_just_over_the_limit_lies_in_a_file_too(tmp_path: Path):
    desk = desk_in(tmp_path)
    desk.environment["BASH_MAX_OUTPUT_LENGTH"] = "10"
    outcome = await call(desk, "Bash", command="echo 123456789012")
    assert text_in(outcome.detail["persistedOutputPath"]) == "123456789012\n"
    assert outcome.detail["stdout"] == "1234567890"


async def test_a_large_output_of_a_failure_is_cut_and_kept(tmp_path: Path):
    outcome = await call(desk_in(tmp_path), "Bash", command="seq 1 40000; exit 4")
    (path,) = (tmp_path / "results").iterdir()
    assert outcome.content.startswith("Exit code 4\n1\n2\n")
    assert str(path) in outcome.content
    assert len(outcome.content) < 31_000


async def test_without_a_folder_for_results_the_rest_is_said_to_be_lost(tmp_path: Path):
    outcome = await call(desk_in(tmp_path, results_folder=""), "Bash", command="seq 1 400000")
    assert outcome.content.endswith("the rest is lost]")


async def test_a_command_over_its_time_is_ended_where_nothing_can_go_on(tmp_path: Path):
    outcome = await call(desk_in(tmp_path), "Bash", command="echo a; while :; do sleep 1; done", timeout=300)
    assert outcome.is_error
    assert outcome.content == "Command timed out after 0.3s and was ended\na"


async def test_a_command_over_its_time_goes_on_in_the_background(tmp_path: Path):
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
    assert text_in(tasks.folder / "0.output") == "a\nb\n"


async def test_a_command_in_the_background_writes_to_its_file(tmp_path: Path):
    tasks = Background(tmp_path)
    desk = desk_in(tmp_path, tasks=tasks)
    outcome = await call(desk, "Bash", command="echo x; exit 2", run_in_background=True, description="two")
    assert outcome.content.startswith(
        f"Command running in background with ID: b1. Output is being written to: {tmp_path}"
    )
    assert outcome.detail["backgroundTaskId"] == "b1"
    async with asyncio.timeout(10):
        assert await tasks.tasks[0] == ("failed", 'Background command "two" failed with exit code 2')
    assert (tmp_path / "0.output").read_text() == "x\n"


async def test_a_stopped_command_in_the_background_is_ended(tmp_path: Path):
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


async def test_background_without_anything_that_keeps_it_is_refused(tmp_path: Path):
    with pytest.raises(ToolFailed, match="background"):
        await call(desk_in(tmp_path), "Bash", command="echo a", run_in_background=True)


@pytest.mark.parametrize("command", ["sleep 30", "sleep 25; echo x", "sleep 1m && true", " sleep 1h"])
async def test_a_long_sleep_at_the_beginning_is_refused(tmp_path: Path, command: str):
    outcome = await call(desk_in(tmp_path), "Bash", command=command)
    assert outcome.is_error
    assert str(outcome.content).startswith("<tool_use_error>Blocked: ")


async def test_a_short_sleep_is_not_refused(tmp_path: Path):
    assert (await call(desk_in(tmp_path), "Bash", command="sleep 0.01; echo y")).content == "y"


@pytest.mark.parametrize("start", ["", "setsid ", "nohup "])
async def test_a_cancelled_command_leaves_nothing_behind(tmp_path: Path, start: str):
    os.mkfifo(tmp_path / "alive")
    desk = desk_in(tmp_path)
    inner = f"trap : TERM; exec 9>{tmp_path}/alive; while :; do sleep 1; done"
    running = asyncio.create_task(call(desk, "Bash", command=f"{start}bash -c '{inner}' & wait"))
    # The pipe opens when the innermost process runs, and ends when the last one that holds it is gone.
    reader = await asyncio.wait_for(asyncio.to_thread(os.open, tmp_path / "alive", os.O_RDONLY), 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await asyncio.wait_for(asyncio.to_thread(os.read, reader, 1), 10) == b""
    os.close(reader)


async def test_who_was_started_with_an_ampersand_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "go")
    desk = desk_in(tmp_path)
    outcome = await call(desk, "Bash", command=f"(read x < {tmp_path}/go; echo $x > done; echo noise) & echo now")
    assert outcome.content == "now"
    await asyncio.to_thread((tmp_path / "go").write_text, "later\n")


async def test_a_nul_in_a_command_is_told_in_words(tmp_path: Path):
    with pytest.raises(ToolFailed, match="NUL"):
        await call(desk_in(tmp_path), "Bash", command="echo \x00")


async def test_half_a_character_in_a_command_is_told_in_words(tmp_path: Path):
    with pytest.raises(ToolFailed, match="half a character"):
        await call(desk_in(tmp_path), "Bash", command="echo \ud800")


async def test_no_descriptor_is_left_open(tmp_path: Path):
    desk = desk_in(tmp_path)
    await call(desk, "Bash", command="true")
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        await call(desk, "Bash", command="echo a; false")
    assert len(os.listdir("/proc/self/fd")) <= len(before)
