"""The tour runs anywhere, with the real SDK, and asks whoever is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.cli.terminal import Terminal
from handrail.cli.tour import Tour
from tests.cli.command import at_a_terminal, piped


def test_off_a_terminal_it_runs_to_the_end_by_itself():
    done = piped("tour", PATH="/nowhere")
    text = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert text.count("Allow? y  (answered by the tour)") == 2
    assert [word for word in ("✓ Read", "✓ Edit", "✓ Bash", "tokens in", "Try next") if word not in text] == []
    assert len([line for line in text.splitlines() if line.startswith("  handrail ")]) == 3
    assert "\x1b" not in text


def test_at_a_terminal_it_asks_and_continues_after_any_answer():
    with at_a_terminal("tour", "--speed", "1000") as screen:
        shown = screen.shows("Allow? ")
        assert "a recording can only go on as it was" in " ".join(shown.split())
        assert shown.index("Splitting on white space fixes that.") < shown.index("┃ Edit slugs.py")
        screen.type("n not today")
        screen.shows("The recording continues with yes")
        screen.shows("Allow? ")
        screen.type("y")
        screen.shows("Try next:")
        assert screen.ends() == 0


def test_q_leaves_it_and_still_says_what_to_try():
    with at_a_terminal("tour", "--speed", "1000") as screen:
        screen.shows("Allow? ")
        screen.type("q")
        screen.shows("You have left the tour.")
        screen.shows("Try next:")
        assert screen.ends() == 0


def test_ctrl_c_ends_it_without_a_traceback():
    with at_a_terminal("tour", "--speed", "1000") as screen:
        screen.shows("Allow? ")
        screen.press("\x03")
        assert screen.ends() == 130
    assert "Traceback" not in screen.text


def test_a_wrong_speed_is_a_usage_error():
    done = piped("tour", "--speed", "-1")
    assert (done.returncode, b"Traceback" in done.stderr) == (2, False)


async def test_a_recording_that_cannot_be_read_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    code = await Tour(Terminal(keyboard=None), speed=0).run(tmp_path / "none.ndjson")
    captured = capsys.readouterr()
    assert (code, captured.out, captured.err.count("\n")) == (1, "", 1)
