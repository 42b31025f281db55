"""Keywords in their order."""

from __future__ import annotations

import pytest

from handrail.permissions.shell.nesting import Nesting
from handrail.permissions.shell.quotes import Unclear


def passed(text: str) -> Nesting:
    """Go past keywords; any other word is a command."""
    nesting = Nesting()
    for word in text.split():
        if word == "a":
            nesting.empty = False
        else:
            nesting.pass_keyword(word)
    return nesting


@pytest.mark.parametrize(
    "text",
    [
        "if a then a fi",
        "if a then a else a fi",
        "if a then a elif a then a elif a then a else a fi",
        "while a do a done",
        "until a do a done",
        "for do a done",
        "case esac",
        "case a esac",
        "{ a }",
        "( a )",
        "( { ! a } )",
        "if ( a ) then { a } fi",
        "! a",
    ],
)
def test_balanced_nesting_is_closed_at_the_end(text: str):
    nesting = passed(text)
    assert (nesting.expected, nesting.brackets, nesting.empty) == ([], 0, False)


@pytest.mark.parametrize(
    ("text", "expected", "brackets"),
    [
        ("if", ["then"], 0),
        ("if a then", ["fi"], 0),
        ("if a then a else", ["fi only"], 0),
        ("while a do { ( (", ["done", "}", ")", ")"], 2),
        ("( a ) ( case", [")", "esac"], 1),
        ("until", ["do"], 0),
        ("for", ["do"], 0),
    ],
)
def test_it_is_known_what_is_open(text: str, expected: list[str], brackets: int):
    nesting = passed(text)
    assert (nesting.expected, nesting.brackets) == (expected, brackets)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("then", "then"),
        ("fi", "fi"),
        ("}", "}"),
        (")", ")"),
        ("done", "done"),
        ("esac", "esac"),
        ("if then", "then"),
        ("if a fi", "fi"),
        ("if a then fi", "fi"),
        ("if a then a else fi", "fi"),
        ("if a then a else a else", "else"),
        ("if a then a else a elif", "elif"),
        ("if a then a then", "then"),
        ("while do", "do"),
        ("while a done", "done"),
        ("while a do done", "done"),
        ("for do done", "done"),
        ("{ }", "}"),
        ("( )", ")"),
        ("( a }", "}"),
        ("{ a )", ")"),
        ("{ ! }", "}"),
        ("case a fi", "fi"),
    ],
)
def test_a_keyword_out_of_place_is_refused(text: str, word: str):
    with pytest.raises(
        Unclear, match=f"^`\\{word}` is out of place$" if word in "})" else f"^`{word}` is out of place$"
    ):
        passed(text)


@pytest.mark.parametrize(
    ("text", "inside"), [("case", True), ("case {", False), ("if", False), ("", False), ("case { a }", True)]
)
def test_a_branch_is_the_innermost_thing(text: str, inside: bool):
    assert passed(text).in_case() is inside
