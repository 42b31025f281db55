"""The text of a git configuration, read as git reads it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from handrail.settings.git_config_text import read_git_config

EVIL = ("core.fsmonitor", "evil")


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("# no more \\\n[core]\nfsmonitor = evil\n", [EVIL]),
        ("[a]\nb = c # d \\\n[core]\nfsmonitor = evil\n", [("a.b", "c"), EVIL]),
        ("[core]\nx = a\\\\\\\n[user]\nfsmonitor = evil\n", [("core.x", "a\\[user]"), EVIL]),
        ("\ufeff[core]\nfsmonitor = evil\n", [EVIL]),
        ("[a][core]fsmonitor = evil", [EVIL]),
        ("[a]\r\nb=c\r\n[core]\r\n\tfsmonitor = evil\r\n", [("a.b", "c"), EVIL]),
        ("[Core]FSMonitor=evil", [EVIL]),
        ('[core]\nfsmonitor = " false "\n', [("core.fsmonitor", " false ")]),
        ('[core]\nfsmonitor = e"vi"l ; x', [EVIL]),
        ('[a "B\\"c"]\nd = "e\\tf" g\n', [('a.B"c.d', "e\tf g")]),
        ("[a]\nb\nc=\n", [("a.b", "true"), ("a.c", "")]),
        ("[a]\nb = c\\\n  d\n", [("a.b", "c  d")]),
        ("[a]\nb = c", [("a.b", "c")]),
        ("[a]\nb = c\\n", [("a.b", "c\n")]),
    ],
)
def test_result_agrees_with_git(tmp_path: Path, text: str, entries: list[tuple[str, str]]):
    path = tmp_path / "config"
    path.write_text(text, newline="")
    assert [(entry.name, entry.value) for entry in read_git_config(text, "x")] == entries
    listed = subprocess.run(
        ["git", "config", "--file", str(path), "--list", "-z"], capture_output=True, check=True, text=True
    )
    told = [row.partition("\n") for row in listed.stdout.split("\0")[:-1]]
    assert [(name, value if sign else "true") for name, sign, value in told] == entries


def test_invalid_line_hides_nothing():
    text = "lost = 1\n[core]\n= 2\nkey ! 3\n[never closed\nfsmonitor = evil\n"
    assert [(entry.name, entry.value, entry.line) for entry in read_git_config(text, "x")] == [(*EVIL, 6)]


def test_a_last_escape_without_a_sign_is_nothing():
    assert [entry.value for entry in read_git_config("[a]\nb = c\\", "x")] == ["c"]
