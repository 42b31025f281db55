"""Nothing that somebody else wrote reaches the terminal as a command to it."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.cli.printable import printable
from handrail.cli.terminal import Terminal, cut, one_line


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b31m", "\\x9b31m"),
        ("bell\x07 back\x08 del\x7f", "bell\\x07 back\\x08 del\\x7f"),
        ("\u202eevil\u202c", "\\u202eevil\\u202c"),
        ("\u2066a\u2069", "\\u2066a\\u2069"),
        ("over\rwritten", "over\\rwritten"),
        ("hid\u200bden", "hid\\u200bden"),
        ("\U000e0041tag", "\\U000e0041tag"),
        ("half \ud83d", "half \\ud83d"),
    ],
)
def test_control_characters_are_escaped(hostile: str, shown: str):
    assert printable(hostile) == shown


@pytest.mark.parametrize("harmless", ["a\tb\nc", "größer 日本語", "👩\u200d💻", "é", ""])
def test_ordinary_text_stays_as_it_is(harmless: str):
    assert printable(harmless) == harmless


@given(st.text())
def test_no_control_character_but_newline_and_tab_survives(text: str):
    left = {letter for letter in printable(text) if ord(letter) < 32 or 127 <= ord(letter) < 160}
    assert left <= {"\n", "\t"}


def test_a_line_is_cut_by_columns_not_by_letters():
    assert cut("日本語テキスト", 7) == "日本語…"
    assert cut("short", 5) == "short"
    assert cut("longer", 5) == "long…"


def test_one_line_has_no_line_breaks_and_no_controls():
    assert one_line("a\n  b\x1b[0m\tc", 40) == "a b\\x1b[0m c"


def test_without_a_terminal_there_are_no_styles_status_or_questions():
    out = io.StringIO()
    terminal = Terminal(out, out, keyboard=None)
    terminal.status("busy")
    terminal.write("red\x1b[0m", "red")
    terminal.line("next", "bold")
    assert out.getvalue() == "red\\x1b[0m\nnext\n"
    assert not terminal.interactive


async def test_without_a_keyboard_a_question_has_no_answer():
    terminal = Terminal(io.StringIO(), io.StringIO(), keyboard=None)
    assert await terminal.read_line("Well? ") is None
    assert not terminal.awaits_a_line


def test_an_encoding_without_a_letter_gets_it_written_out():
    raw = io.BytesIO()
    terminal = Terminal(io.TextIOWrapper(raw, encoding="ascii"), keyboard=None)
    terminal.line("✓ größe")
    assert raw.getvalue() == b"\\u2713 gr\\xf6\\xdfe\n"
