"""Small programs of sed and awk: what they may do is read off their text."""

from __future__ import annotations

import pytest

from handrail.permissions.bash_programs import awk_hazard, awk_programs, sed_hazard, sed_scripts, sed_writes
from tests.permissions.command_words import words_of


@pytest.mark.parametrize(
    ("text", "scripts", "files"),
    [
        ("sed s/a/b/ f g", [1], [2, 3]),
        ("sed -n 1p f", [2], [3]),
        ("sed -e p -e d f", [2, 4], [5]),
        ("sed --expression p f", [2], [3]),
        ("sed --expression=p f", [1], [2]),
        ("sed -l 5 p f", [3], [4]),
        ("sed --line-length 5 p", [3], []),
        ("sed -n -- p -n", [3], [4]),
        ("sed -- -e p", [2], [3]),
        ("sed p -", [1], [2]),
        ("sed -e", [], []),
        ("sed", [], []),
    ],
)
def test_scripts_and_files_of_sed_are_told_apart(text: str, scripts: list[int], files: list[int]):
    assert sed_scripts(words_of(text)) == (scripts, files)


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("sed -i s/a/b/ f", True),
        ("sed -i.bak s/a/b/ f", True),
        ("sed -ni p f", True),
        ("sed --in-place p f", True),
        ("sed --i p f", True),
        ("sed -n p f", False),
        ("sed p f", False),
    ],
)
def test_sed_changes_files_only_when_told_to(text: str, writes: bool):
    assert sed_writes(words_of(text)) is writes


@pytest.mark.parametrize(
    "script",
    [
        "p",
        "1p",
        "1,5p",
        "1~2p",
        "$d",
        "/a/,/b/d",
        "/a/I!d",
        "1,+3p",
        "2q",
        "s/a/b/",
        "s/a/b/g",
        "s|a|b|gI2",
        r"s/a\/b/c/",
        "s/a/b/;s/c/d/",
        "1d\n$d",
        "y/abc/xyz/",
        "/a/{p;d}",
        "1,5{s/a/b/}",
        "  ",
        ";",
    ],
)
def test_a_plain_script_of_sed_is_no_hazard(script: str):
    assert sed_hazard(words_of(f"sed '{script}' f")) is None


def test_files_after_the_end_of_options_are_no_hazard():
    assert sed_hazard(words_of("sed -n -- p --unheard")) is None


@pytest.mark.parametrize(
    "script",
    ["e", "1e", "s/a/b/e", "s/a/b/w x", "w x", "r x", "W x", "R x", "/a/{e}", "/a/{w x}", "a x", "p;e", "s/a/b/ge"],
)
def test_a_script_of_sed_that_runs_or_writes_is_found(script: str):
    found = sed_hazard(words_of(f"sed '{script}' f"))
    assert found is not None
    assert (found.index, found.why) == (1, "sed's script may run a command or write a file")


@pytest.mark.parametrize(
    ("text", "index", "why"),
    [
        ("sed -e p -e 'w x'", 4, "sed's script may run a command or write a file"),
        ('sed "$x"', 1, "sed's script may run a command or write a file"),
        ("sed p* f", 1, "sed's script may run a command or write a file"),
        ("sed --expression=e f", 1, "sed's script may run a command or write a file"),
        ("sed -n", 1, "sed has no script that can be read"),
        ("sed", 0, "sed has no script that can be read"),
        ("sed -es/a/b/ p", 1, "sed's script is not read here"),
        ("sed -f x p", 2, None),
        ("sed --file=x p", 1, None),
    ],
)
def test_what_sed_is_told_otherwise_is_found(text: str, index: int, why: str | None):
    found = sed_hazard(words_of(text))
    assert found is not None
    assert found.index == index
    assert why in (None, found.why)


@pytest.mark.parametrize(
    ("text", "program", "files"),
    [
        ("awk '{print}' a b", 1, [2, 3]),
        ("awk -F : '{print}' a", 3, [4]),
        ("awk -F: '{print}' a", 2, [3]),
        ("awk -v x=1 --assign y=2 '{print}'", 5, []),
        ("awk -- '{print}' a", 2, [3]),
        ("awk - a", 1, [2]),
        ("awk -F", 0, []),
        ("awk --", 0, []),
        ("awk", 0, []),
    ],
)
def test_the_program_of_awk_is_found(text: str, program: int, files: list[int]):
    assert awk_programs(words_of(text)) == (program, files)


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
def test_a_plain_program_of_awk_is_no_hazard(program: str):
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
        '/"/ {print "|" } /"/',
        '$1 / 2 {print "}"}',
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
def test_what_awk_is_told_otherwise_is_found(text: str, index: int):
    found = awk_hazard(words_of(text))
    assert found is not None
    assert found.index == index
