"""Programs of awk: what they can do is read off their text."""

from __future__ import annotations

import pytest

from handrail.permissions.programs.awk import awk_hazard
from tests.permissions.command_words import words_of


@pytest.mark.parametrize(
    "program",
    [
        "{print $1}",
        "NR>1",
        "/a/ {print}",
        "/a\\/b/ {print $2}",
        '{print "x"}',
        '{s+=$1} END {printf "%d\\n", s}',
        "$1 > 5 || $2 < 3 {print $1}",
        '$1 == "a|b"',
        "!/x/",
        'length($0) > 80 {print FILENAME ":" FNR}',
    ],
)
def test_plain_awk_program_is_harmless(program: str):
    assert awk_hazard(words_of(f"awk '{program}' f")) is None


@pytest.mark.parametrize(
    "program",
    [
        'BEGIN {system("x")}',
        '{print | "sh"}',
        '"sh" | getline',
        '{print > "x"}',
        '{printf "a" > "x"}',
        '{print >> "x"}',
        "{getline < $1}",
        "BEGIN {print ENVIRON[1]}",
        "@load x",
        '{print "unclosed}',
        "{close(x)}",
        "/[/]/ {print}",
    ],
)
def test_a_program_of_awk_that_runs_or_opens_is_found(program: str):
    found = awk_hazard(words_of(f"awk '{program}' f"))
    assert found is not None
    assert (found.index, found.why) == (1, "awk's program may run a command or open a file")


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("awk -F :", 2),
        ("awk", 0),
        ("awk -f x y", 1),
        ("awk --file=x y", 1),
        ("awk -i inplace '{print}'", 1),
        ('awk "$x" f', 1),
        ("awk '{print}'* f", 1),
        ("awk -F : '{system(1)}'", 3),
    ],
)
def test_hazards_of_awk_are_found_at_their_word(text: str, index: int):
    found = awk_hazard(words_of(text))
    assert found is not None
    assert found.index == index


@pytest.mark.parametrize(
    "program",
    [
        "{print (a+b)/2}",
        "{if (x) print /a/}",
        "if (x) /a/ {print}",
        "/[a-z]+[[:digit:]]/ {print}",
        "NR == 1 {next} {s += $1 / 2} END {print s/NR}",
        'BEGIN {FS=","} {print (1 > 2)}',
        "{print a\n} $3 > 1 {print}",
        "function f(x) {return x/2} {print f($1)}",
        "# a comment\n{print}",
    ],
)
def test_division_and_patterns_are_distinguished(program: str):
    assert awk_hazard(words_of(f"awk '{program}' f")) is None


@pytest.mark.parametrize(
    "program",
    [
        "{x++ / 2}",
        "{print)}",
        "{print a, \n b > c}",
        "{print 1" + " " * 4096 + "}",
        "/[/]/ {print}",
        "{a::b = 1}",
        "{print \\x}",
        "{x = /a}",
    ],
)
def test_a_program_of_awk_that_is_not_understood_is_found(program: str):
    assert awk_hazard(words_of(f"awk '{program}' f")) is not None
