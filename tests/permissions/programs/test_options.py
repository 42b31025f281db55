"""Options that do more than they seem, found however they are written."""

from __future__ import annotations

import pytest

from handrail.permissions.programs.options import Finding, Hazards, find_hazard, hazards
from handrail.permissions.shell.words import fixed_word, is_option
from tests.permissions.command_words import words_of

SORT = hazards("o", "output compress-program")
WORDS = hazards("", "", words="exec -a")
DASHED = hazards("", "exec toolexec XX", single_dash=True)


def test_a_row_is_made_of_words():
    assert hazards("ab", "x-y z", words="run exec", single_dash=True) == Hazards(
        "ab", ("x-y", "z"), ("run", "exec"), single_dash=True
    )
    assert hazards("", "") == Hazards("", (), (), single_dash=False)


@pytest.mark.parametrize(("text", "expected"), [("-a", True), ("--", True), ("--x", True), ("-", False), ("a", False)])
def test_an_option_begins_with_a_dash_and_has_more(text: str, expected: bool):
    assert is_option(fixed_word(text)) is expected


@pytest.mark.parametrize(
    ("table", "text", "index"),
    [
        (SORT, "sort a b", None),
        (SORT, "sort -n --reverse a", None),
        (SORT, "sort -o x a", 2),
        (SORT, "sort -o", 1),
        (SORT, "sort -no x", 2),
        (SORT, "sort a -ox", 2),
        (SORT, "sort --output=x a", 1),
        (SORT, "sort --output x a", 2),
        (SORT, "sort --out x a", 2),
        (SORT, "sort --comp=x a", 1),
        (SORT, "sort --outputs a", None),
        (SORT, "sort -- -o x", None),
        (SORT, "sort -- --output=x", None),
        (SORT, "sort $x", 1),
        (SORT, 'sort "$x"', 1),
        (SORT, "sort a *", 2),
        (SORT, 'sort "a$x"', None),
        (SORT, "sort a*", None),
        (hazards("", ""), "ls $x", None),
        (WORDS, "npm exec x", 1),
        (WORDS, "npm run exec", None),
        *((WORDS, f"npm {name} exec", None) for name in "install i add run-script test t start build why".split()),
        (WORDS, "npm other exec", 2),
        (SORT, "sort --quiet -- -o x", None),
        (SORT, "sort -5 -- -o x", None),
        (SORT, "sort --key -- -o x", 4),
        (SORT, "sort --key=1 -- -o x", None),
        (hazards("o", "", valued="k"), "sort -nk2o", None),
        (hazards("o", "", valued="k"), "sort -nok2", 1),
        (WORDS, "npm -w a exec", 3),
        (WORDS, "npm a b exec", 3),
        (WORDS, "npm a b c exec", None),
        (WORDS, "npm run x -a", 3),
        (WORDS, "npm -- exec", 2),
        (WORDS, "npm $x", 1),
        (WORDS, "npm a $x", 2),
        (WORDS, "npm a b $x", None),
        (DASHED, "go test -exec x", 3),
        (DASHED, "go test -exec=x", 2),
        (DASHED, "go test --toolexec=x y", 2),
        (DASHED, "java -XX:+Y", 1),
        (DASHED, "go test -exe x", None),
        (DASHED, "go test -v", None),
    ],
)
def test_the_first_argument_that_a_table_warns_of_is_found(table: Hazards, text: str, index: int | None):
    found = find_hazard(table, words_of(text))
    assert (found and found.index) == index


@pytest.mark.parametrize(
    ("table", "text", "finding"),
    [
        (SORT, "sort -no x", Finding(2, "-o executes or overwrites")),
        (SORT, "sort --out=x", Finding(1, "--out executes or overwrites")),
        (WORDS, "npm exec", Finding(1, "exec executes or overwrites")),
        (SORT, "sort $x", Finding(1, "what $x stands for could be an option that executes or overwrites")),
    ],
)
def test_problem_is_described(table: Hazards, text: str, finding: Finding):
    assert find_hazard(table, words_of(text)) == finding
