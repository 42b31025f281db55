"""Which files a word may mean."""

from __future__ import annotations

import pytest

from handrail.permissions.bash.candidates import MOST, MOST_VALUES, Candidate, candidates, could_overlap, with_values
from handrail.permissions.paths.matching import Anchors, Resolved
from handrail.permissions.paths.names import squash
from handrail.permissions.shell.commands import read_script
from handrail.permissions.shell.words import HOLE, Word

ANCHORS = Anchors(cwd="/w", project="/w", home="/h")


def meant(text: str) -> list[Candidate]:
    """The files that the last word of a script may mean."""
    script = read_script(text)
    assert not script.doubts, script.doubts
    command = script.commands[-1]
    return candidates(command.words[-1], command.folders, ANCHORS, script.notes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat a", [Candidate("/w/a")]),
        ("cat /a", [Candidate("/a")]),
        ("cat ~/a", [Candidate("/h/a")]),
        ('cat "$PWD/a"', [Candidate("/w/a")]),
        ('cd /d && cat "$PWD/a"', [Candidate("/d/a")]),
        ("cd d && cat a", [Candidate("/w/d/a")]),
        ("cd d && cd e && cat a", [Candidate("/w/d/e/a")]),
        ("cd d; cat a", [Candidate("/w/a"), Candidate("/w/d/a")]),
        ("cd; cat a", [Candidate("/w/a"), Candidate("/h/a")]),
        ('cd "$x" && cat a', [Candidate("", open=True)]),
        ('cd "$x" && cat /a', [Candidate("/a")]),
        ('cat "$x"', [Candidate("", open=True)]),
        ('cat "/$x"', [Candidate("/", open=True)]),
        ('cat "d/e$x"', [Candidate("/w/d", open=True)]),
        ("x=b; cat $x", [Candidate("/w/b")]),
        ("x=b; x=c; cat d/$x", [Candidate("/w/d/b"), Candidate("/w/d/c")]),
        ("x=b y=c; cat $x$y", [Candidate("/w/bc")]),
        ("x=b; cat $x$y", [Candidate("/w", open=True)]),
        ("cat *", [Candidate("/w", glob="*")]),
        ("cat d/*.py", [Candidate("/w/d", glob="*.py")]),
        ("cat /*", [Candidate("/", glob="*")]),
        ("cat d*/e", [Candidate("/w", open=True, glob="d*")]),
        ('cat d/a*"$x"', [Candidate("/w/d", open=True, glob=f"a*{HOLE}")]),
        ("cat 'a*'", [Candidate("/w/a*")]),
        ("cat a[bc]", [Candidate("/w", glob="a[bc]")]),
        ("cd 'd*' && cat a?", [Candidate("/w/d*", glob="a?")]),
    ],
)
def test_the_files_that_a_word_may_mean(text: str, expected: list[Candidate]):
    assert meant(text) == expected


def test_a_word_with_a_hole_of_unknown_origin_may_mean_any_file():
    script = read_script("x=b; true")
    assert candidates(Word(f"{HOLE}{HOLE}", "?", ("x",)), ((),), ANCHORS, script.notes) == [Candidate("", open=True)]
    assert candidates(Word(f"/d/{HOLE}", "?"), ((),), ANCHORS, script.notes) == [Candidate("/d", open=True)]


def test_of_too_many_files_the_rest_may_be_any():
    values = " ".join(f"a{number}" for number in range(10))
    found = meant(f'for x in {values}; do for y in {values}; do cat "$x$y"; done; done')
    assert len(found) == MOST
    everywhere = tuple((f"d{number}",) for number in range(MOST + 1))
    word, notes = read_script("cat a").commands[0].words[1], read_script("true").notes
    assert candidates(word, everywhere[:MOST], ANCHORS, notes)[-1] == Candidate(f"/w/d{MOST - 1}/a")
    assert candidates(word, everywhere, ANCHORS, notes)[MOST:] == [Candidate("/w", open=True)]


@pytest.mark.parametrize(
    ("pattern", "content", "expected"),
    [
        ("*", ".env", True),
        ("*.py", "a.py", True),
        ("*.py", "src/A.PY", True),
        ("*.py", ".env", False),
        ("*.py", "secrets/", False),
        ("s*", "secrets/", True),
        ("a*", "*.py", True),
        ("*.js", "*.py", False),
        ("a*", "b*", False),
        ("ab*", "a*", True),
        ("a*", "ab*", True),
        ("*c", "*bc", True),
        ("*bc", "*c", True),
        ("a[bc]", "a*d", True),
        ("a*d", "a[bc]", True),
        ("x[bc]", "a*", False),
    ],
)
def test_a_pattern_may_mean_what_a_rule_means(pattern: str, content: str, expected: bool):
    assert could_overlap(pattern, content) is expected


class Folders:
    """A disk with a few names in each folder, and too many in one."""

    def __init__(self, **names: tuple[str, ...]) -> None:
        self.found = {f"/w/{folder}".removesuffix("/here"): names for folder, names in names.items()}

    def resolve(self, path: str) -> Resolved:
        raise AssertionError(path)

    def names(self, folder: str) -> tuple[str, ...] | None:
        folder = squash(folder)
        return None if folder == "/w/many" else self.found.get(folder, ())

    def is_plain(self, folder: str) -> bool:
        raise AssertionError(folder)


WORLD = Folders(here=("a.md", "b.md", "-x", ".hidden", "sub", "many"), sub=("c.md", "d e"))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("cat *.md", ("a.md", "b.md")),
        ("cat ./*.md", ("./a.md", "./b.md")),
        ("cat *", ("a.md", "b.md", "-x", "sub", "many")),
        ("cat .h*", (".hidden",)),
        ("cat ?.md", ("a.md", "b.md")),
        ("cat [a].md", ("a.md", "b.md", "-x", "sub", "many")),
        ("cat s*/c.md", ("sub/c.md",)),
        ("cat sub/*", ("sub/c.md", "sub/d e")),
        ("cat sub/*.py", ("sub/*.py",)),
        ("cat *.py", None),
        ("cat many/*", None),
        ("cat a.md", None),
        ("x=a; cat $x", ("a",)),
        ("x=a; cat $x.md", ("a.md",)),
        ("x='a b'; cat $x", None),
        ("x='a b'; cat \"$x\"", ("a b",)),
        ("x=; cat $x", None),
        ("x=$y; cat $x", None),
        ("x=a; x+=b; cat $x", None),
        ("cat $x", None),
        ("for f in *.md; do cat $f; done", ("a.md", "b.md")),
        ("for f in sub/*; do cat $f; done", None),
        ('for f in sub/*; do cat "$f"; done', ("sub/c.md", "sub/d e")),
        ("for f in many/*; do cat $f; done", None),
        ("cd sub && cat *.md", ("c.md",)),
        ("cd sub; cat *.md", None),
        ('cd "$x" && cat *.md', None),
        ("x=s; cat $x*/c.md", ("sub/c.md",)),
        ("cat <(ls)", ("/dev/stdin",)),
    ],
)
def test_values_of_a_word_are_looked_up(text: str, values: tuple[str, ...] | None):
    script = read_script(text)
    command = next(item for item in script.commands if item.name == "cat")
    assert with_values(command.words[-1], command.folders, ANCHORS, script.notes, WORLD).values == values


def test_too_many_values_are_not_looked_up():
    names = tuple(f"n{number}" for number in range(MOST_VALUES + 1))
    script = read_script("cat n*")
    word = script.commands[0].words[1]
    assert with_values(word, ((),), ANCHORS, script.notes, Folders(here=names[1:])).values == names[1:]
    assert with_values(word, ((),), ANCHORS, script.notes, Folders(here=names)).values is None
    twice = read_script("for x in n* m* n*; do cat $x; done")
    word = twice.commands[0].words[1]
    assert with_values(word, ((),), ANCHORS, twice.notes, Folders(here=names[1:])).values is None
    many = read_script("for x in n*; do for y in n*; do cat $x$y; done; done")
    word = many.commands[0].words[1]
    assert with_values(word, ((),), ANCHORS, many.notes, Folders(here=names[2:])).values is None
