"""A command as it meets the eye."""

from __future__ import annotations

import pytest

from handrail.permissions.shell.text import LONGEST_SHOWN, deception, shown_command

CONTROLS = "it contains control characters"
TURNS = "it contains signs that turn the text around"
UNSEEN = "it contains invisible characters"
BLANKS = "it contains blanks that do not separate words"
GAP = "it contains a gap in which the rest may be overlooked"


@pytest.mark.parametrize(
    "text", ["ls -l", "a\tb\nc", "grüße 日本 🎉", "👩\u200d💻", "a" + " " * 199 + "b", "a" + "\n" * 39 + "b", ""]
)
def test_plain_text_is_not_marked_as_misleading(text: str):
    assert deception(text) == ""


@pytest.mark.parametrize(
    ("sign", "why"),
    [
        *((sign, CONTROLS) for sign in "\x00\x07\x08\x0b\x0c\r\x1b\x1f\x7f\x85\x9f\u2028\u2029"),
        *((sign, TURNS) for sign in "\u061c\u200e\u200f\u202a\u202e\u2066\u2069"),
        *((sign, UNSEEN) for sign in "\u00ad\u034f\u115f\u1160\u180b\u200b\u200c\u2060\u206f\u3164\ufeff\ufffb"),
        ("\u200d", UNSEEN),
        *((sign, BLANKS) for sign in "\u00a0\u1680\u2003\u202f\u205f\u3000"),
        (" " * 200, GAP),
        (" \t" * 100, GAP),
        ("\n" * 40, GAP),
    ],
)
def test_misleading_characters_are_named(sign: str, why: str):
    assert deception(f"ls{sign}x") == why


def test_a_joiner_is_plain_only_between_pictures():
    assert deception("a\u200d💻") == UNSEEN
    assert deception("👩\u200da") == UNSEEN


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ls\t-l\nx", "ls\t-l\nx"),
        ("a\x1b[0m", "a\\x1b[0m"),
        ("a\u202eb", "a\\u202eb"),
        ("a\udc80", "a\\udc80"),
        ("x" * LONGEST_SHOWN, "x" * LONGEST_SHOWN),
        ("x" * (LONGEST_SHOWN + 1), "x" * (LONGEST_SHOWN - 1) + "…"),
    ],
)
def test_a_command_is_shown_short_and_with_escapes(text: str, expected: str):
    assert shown_command(text) == expected
