"""Scripts of sed: what they can do is read off their text."""

from __future__ import annotations

import pytest

from handrail.permissions.programs.sed import sed_hazard, sed_scripts, sed_writes
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
def test_scripts_and_files_of_sed_are_distinguished(text: str, scripts: list[int], files: list[int]):
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
def test_sed_changes_files_only_with_the_option(text: str, writes: bool):
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
def test_plain_sed_script_is_harmless(script: str):
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
        ("sed -n", 1, "the script of sed cannot be read"),
        ("sed", 0, "the script of sed cannot be read"),
        ("sed -es/a/b/ p", 1, "sed's script is not read here"),
        ("sed -f x p", 2, None),
        ("sed --file=x p", 1, None),
    ],
)
def test_hazards_of_sed_are_found_at_their_word(text: str, index: int, why: str | None):
    found = sed_hazard(words_of(text))
    assert found is not None
    assert found.index == index
    assert why in (None, found.why)
