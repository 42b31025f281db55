"""What `[[ … ]]` evaluates."""

from __future__ import annotations

import pytest

from handrail.permissions.shell.conditions import check_test
from handrail.permissions.shell.quotes import Unclear
from handrail.permissions.shell.reading import Notes
from handrail.permissions.shell.words import HOLE, NUMBER, Word, fixed_word

LOOKS_UP = "a test looks up a variable by a name that is worked out"
SUM = "a test evaluates a word as a sum"
WORDS = {
    "$x": Word(HOLE, "$x", ("x",)),
    "$1": Word(HOLE, "$1", ("1",)),
    "$(x)": Word(HOLE, "$(x)", ("",)),
    "$#": Word(NUMBER, "$#"),
    "a$x": Word(f"a{HOLE}", "a$x", ("x",)),
}


def noted(text: str) -> Notes:
    notes = Notes()
    check_test([WORDS.get(word, fixed_word(word)) for word in text.split()], notes)
    return notes


@pytest.mark.parametrize(
    ("text", "counted", "doubts"),
    [
        ("[[ a == b ]]", set[str](), []),
        ("[[ -f $x && -d $(x) ]]", set[str](), []),
        ("[[ -v a ]]", set[str](), [LOOKS_UP]),
        ("[[ -R a ]]", set[str](), [LOOKS_UP]),
        ("[[ 1 -eq -20 ]]", set[str](), []),
        ("[[ $x -ne 2 ]]", {"x"}, []),
        ("[[ 1 -lt $x ]]", {"x"}, []),
        ("[[ $# -ge 1 ]]", set[str](), []),
        ("[[ $1 -le 1 ]]", set[str](), [SUM]),
        ("[[ $(x) -gt 1 ]]", set[str](), [SUM]),
        ("[[ x -eq a$x ]]", set[str](), [SUM, SUM]),
        ("[[ 1234567890123456789 -eq 1 ]]", set[str](), [SUM]),
        ("[[ a =~ b ]]", set[str](), []),
        ("[[ a =~ b && c ]]", set[str](), []),
        ("[[ a =~ b || c ]]", set[str](), []),
    ],
)
def test_it_is_noted_what_a_test_evaluates(text: str, counted: set[str], doubts: list[str]):
    notes = noted(text)
    assert (notes.counted, notes.doubts) == (counted, doubts)


@pytest.mark.parametrize("text", ["[[ a =~ ( b ) ]]", "[[ a =~ b", "[[ a =~ b ) ]]"])
def test_a_pattern_in_several_pieces_is_refused(text: str):
    with pytest.raises(Unclear, match="^a pattern of a test is not plain$"):
        noted(text)
