"""Ctrl-C at a terminal: once interrupts, twice ends; a status line tells what goes on."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.command import at_a_terminal
from tests.cli.words import cli, go_on, told


def test_ctrl_c_interrupts_the_turn_and_the_session_can_be_resumed(tmp_path: Path):
    script = """
        prompt()
        stream("Working on it")
        answer(requested("interrupt"), {"still_queued": []})
        say(failure("error_during_execution", "aborted", terminal_reason="aborted_streaming"))
    """
    with at_a_terminal("run", "--cli", cli(tmp_path, script), "go") as screen:
        screen.shows("Working on it")
        screen.press("\x03")
        screen.shows("interrupting… (Ctrl-C again ends the session)")
        screen.shows("interrupted · $")
        screen.shows("resume: handrail run --resume")
        assert screen.ends() == 130
    assert "failed" not in screen.text


def test_a_second_ctrl_c_ends_the_session_although_the_cli_does_not_answer(tmp_path: Path):
    path = cli(tmp_path, "prompt()\nstream('Working')\nfor _ in sys.stdin.buffer: pass")
    with at_a_terminal("run", "--cli", path, "go") as screen:
        screen.shows("Working")
        screen.press("\x03")
        screen.shows("interrupting…")
        screen.press("\x03")
        screen.shows("ended")
        assert screen.ends() == 130


def test_ctrl_c_at_a_question_denies_it_and_stops_the_turn(tmp_path: Path):
    script = """
        prompt()
        decide(command="touch a")
        say(failure("error_during_execution", "aborted", terminal_reason="aborted_tools"))
    """
    path = cli(tmp_path, script)
    with at_a_terminal("run", "--cli", path, "go") as screen:
        screen.shows("Allow? ")
        screen.press("\x03")
        screen.shows("interrupted · $")
        assert screen.ends() == 130
    (answer,) = told(path)
    assert (answer["behavior"], answer["interrupt"]) == ("deny", True)  # type: ignore[index]


def test_the_status_line_tells_what_runs_and_leaves_nothing_behind(tmp_path: Path):
    script = """
        prompt()
        say(assistant(use("Bash", command="make all")))
        wait_for_go()
        used("x", detail={"stdout": "built", "stderr": ""})
        say(result())
    """
    path = cli(tmp_path, script)
    with at_a_terminal("run", "--cli", path, "go") as screen:
        screen.shows("… Bash make all")
        go_on(path)
        screen.shows("✓ Bash make all · built")
        assert screen.ends() == 0
    assert screen.raw.count(b"\r\x1b[2K") >= 3


def test_json_on_a_terminal_writes_out_what_the_terminal_would_obey(tmp_path: Path):
    text = "\x9b2J \u202e \x7f ü"
    line = json.dumps({"type": "tomorrow", "text": text}, ensure_ascii=False)
    with at_a_terminal(
        "run", "--json", "--cli", cli(tmp_path, f"prompt()\nsay_raw({line!r})\nsay(result())"), "go"
    ) as screen:
        assert screen.ends() == 0
    (shown,) = [line for line in screen.text.splitlines() if "tomorrow" in line]
    assert json.loads(shown)["text"] == text
    assert {letter for letter in shown if ord(letter) < 32 or 127 <= ord(letter) < 160} == set()
    assert "\u202e" not in shown
    assert "ü" in shown
