"""Commands are read by the description of their program; anything else is undescribed."""

from __future__ import annotations

import pytest

from handrail.permissions.programs.description import Parsed, Program, Undescribed, parse, program, values_of
from handrail.permissions.programs.read_only import READERS
from handrail.permissions.programs.tables.git_commands import GIT_COMMANDS
from handrail.permissions.programs.tables.ruled_tools import RULED_TOOLS
from tests.permissions.command_words import words_of

GREP = program(
    "-# -n -i -e:pattern -f:pattern-file -A:number --color[:text] --include:text -r", "pattern path*", tree="-r"
)
FIND = program("-name:text -print", "path*", clusters=False)
ECHO = program(prints=True)
TREE = program("-a -L_:number", "path*")
FILES = program("--files", "pattern path*", patternless="--files")
PAIR = program("--arg:text:text", "text")


@pytest.mark.parametrize(
    ("described", "text", "arguments"),
    [
        (GREP, "grep x a b", [("pattern", "x"), ("path", "a"), ("path", "b")]),
        (GREP, "grep -ni x a", [("pattern", "x"), ("path", "a")]),
        (GREP, "grep -5 x", [("pattern", "x")]),
        (GREP, "grep -e x a", [("pattern", "x"), ("path", "a")]),
        (GREP, "grep -nex a", [("pattern", "x"), ("path", "a")]),
        (GREP, "grep -f x a", [("pattern-file", "x"), ("path", "a")]),
        (GREP, "grep --include=x y", [("text", "x"), ("pattern", "y")]),
        (GREP, "grep --include x y", [("text", "x"), ("pattern", "y")]),
        (GREP, "grep --color x", [("pattern", "x")]),
        (GREP, "grep --color=x y", [("text", "x"), ("pattern", "y")]),
        (GREP, "grep x -- -n", [("pattern", "x"), ("path", "-n")]),
        (GREP, "grep x -", [("pattern", "x"), ("path", "-")]),
        (FIND, "find a -name x -print", [("text", "x"), ("path", "a")]),
        (PAIR, "jq --arg a b c", [("text", "a"), ("text", "b"), ("text", "c")]),
        (ECHO, "echo -x $y *", [("path", "*")]),
        (TREE, "tree -aL 2 x", [("number", "2"), ("path", "x")]),
        (FILES, "rg --files x", [("path", "x")]),
        (GREP, "grep -e -x y", [("pattern", "-x"), ("path", "y")]),
        (GREP, "grep -A -1 x", [("number", "-1"), ("pattern", "x")]),
    ],
)
def test_a_described_command_is_read(described: Program, text: str, arguments: list[tuple[str, str]]):
    found = parse(words_of(text), described)
    assert isinstance(found, Parsed)
    assert [(kind, word.text) for kind, word in found.arguments] == arguments


@pytest.mark.parametrize(
    ("described", "text", "index"),
    [
        (GREP, "grep -x a", 1),
        (GREP, "grep -nx a", 1),
        (GREP, "grep --inc=x y", 1),
        (GREP, "grep --colo y", 1),
        (GREP, "grep x -R y", 2),
        (GREP, "grep $x", 1),
        (GREP, 'grep "$x" y', 1),
        (GREP, "grep x *", 2),
        (GREP, "grep -A $x y", 2),
        (GREP, "grep -A", 1),
        (GREP, "grep --include", 1),
        (GREP, "grep -n=x y", 1),
        (FIND, "find a -names x", 2),
        (TREE, "tree -La 2", 1),
        (TREE, "tree -L2", 1),
        (GREP, "grep -A x y", 2),
        (GREP, "grep --include -n x", 2),
        (PAIR, "jq --arg=a b", 1),
        (PAIR, "jq --arg a", 2),
        (PAIR, "jq a b", 2),
        (program(), "x y", 1),
    ],
)
def test_an_undescribed_word_is_found(described: Program, text: str, index: int):
    found = parse(words_of(text), described)
    assert found == Undescribed(index)


@pytest.mark.parametrize(("text", "tree"), [("grep -r x a", True), ("grep x a", False)])
def test_a_search_of_folders_is_marked(text: str, tree: bool):
    found = parse(words_of(text), GREP)
    assert isinstance(found, Parsed)
    assert found.tree is tree


def test_a_program_without_its_operands_is_undescribed():
    assert parse(words_of("x a"), program("", "text*", needs=2)) == Undescribed(2)
    assert parse(words_of("x"), program("", "text*", bare=False)) == Undescribed(1)


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("date-format", "+%F", "0101"),
        ("variable", "a_1", "'a[1]'"),
        ("setting", "a=b", "1=b"),
        ("shell-option", "pipefail", "posix"),
        ("process-list", "aux", "auxe"),
        ("count", "12", "a"),
        ("plain-path", "a", "@a"),
        ("jq-filter", ".a", "env"),
        ("reflog", "HEAD", "expire"),
        ("make-goal", "V=1", "V=sh"),
        ("make-goal", "all", "''"),
        ("make-goal", "V=", "1V="),
        ("cmake-setting", "A:STRING=b", "CMAKE_C_COMPILER=b"),
        ("sql-query", "'select count(*) from a'", "'select edit(1)'"),
        ("awk-setting", "a=b", "a"),
        ("number", "+5k", "a"),
        ("charset", "UTF-8//IGNORE", "a/b"),
        ("process-columns", "pid,args:40,comm=NAME", "pid,environ"),
        ("git-format", "%h", "%G?"),
        ("git-sort", "refname", "signature"),
        ("archive", "./a:b", "a:b"),
        ("plain-text", "a", "@a"),
    ],
)
def test_values_of_checked_kinds_must_match(kind: str, good: str, bad: str):
    described = program("", kind)
    assert isinstance(parse(words_of(f"x {good}"), described), Parsed)
    assert parse(words_of(f"x {bad}"), described) == Undescribed(1)


def test_all_words_that_could_name_files_are_listed():
    words = values_of(words_of("x a -b -c/d -ij --e --f=/g h"))
    assert [word.text for word in words] == ["a", "/d", "j", "/g", "h"]


@pytest.mark.parametrize("table", [READERS, GIT_COMMANDS, RULED_TOOLS], ids=["readers", "git", "ruled"])
def test_descriptions_are_well_formed(table: dict[str, Program]):
    for name, described in table.items():
        assert all(option.startswith("-") for option in described.kinds), name
        assert all(option in described.kinds or option == "always" for option in described.recursive), name
        assert all(not kind.endswith("*") for kind in described.operands.split()[:-1]), name
