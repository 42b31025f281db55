"""Commands are read by the description of their program; anything else is undescribed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from handrail.permissions.programs.description import (
    CHECKED_KINDS,
    Parsed,
    Program,
    Undescribed,
    parse,
    program,
    values_of,
)
from handrail.permissions.programs.read_only import READERS
from handrail.permissions.programs.tables.git_commands import GIT_COMMANDS
from handrail.permissions.programs.tables.ruled_tools import RULED_TOOLS
from handrail.permissions.shell.words import fixed_word
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


KINDS: list[tuple[str, list[str], list[str]]] = [
    ("number", ["5", "+5k", "-3", "1,3", "10:20", "50%", "2.5"], ["a", "", "+", "5 6", "++5", "5/6"]),
    ("charset", ["UTF-8", "UTF-8//", "A//B//C", "a:b", "c++"], ["a/b", "", "//a", "a//b c", "./a"]),
    (
        "process-columns",
        ["pid", "pid,args:40,comm=NAME", "pid args", "pid, args", "%cpu:12", "pid=", "comm=A B"],
        ["pid,environ", "environ", "pid,", "pid:x", ",pid", "pid,:4", "pid=A,environ", "", "pidargs", "pid:4:5"],
    ),
    ("git-format", ["%h", "", "%h\n%s", "G%h", "% h"], ["%G?", "%+G?", "% G?", "%-GS", "a\n%GK", "%(signature)"]),
    ("git-sort", ["refname", "-committerdate", ""], ["signature", "-signature:key", "a\nb signature"]),
    ("archive", ["a.tar", "./a:b", "a/b:c", "", "a\nb", "/a\n:b"], ["a:b", "host:/a", ":a", "a\nb:c"]),
    ("plain-text", ["a", "a@b", "a\nb", "-"], ["@a", "", "@"]),
    ("date-format", ["+%F", "+", "+%F\n%T"], ["0101", "", "%F+"]),
    ("awk-setting", ["a=b", "A_1=", "_=1\n2", "z=="], ["a", "1a=b", "=b", "", "a b=c"]),
    ("variable", ["a_1", "A", "_", "z9"], ["a[1]", "1a", "", "a=b", "a-b"]),
    ("setting", ["a=b", "a", "_9=", "Z=1\n2"], ["1=b", "", "=", "a b", "a[1]=b"]),
    ("shell-option", ["pipefail", "errexit", "nounset", "xtrace", "+e", "+eux"], ["posix", "+", "+a", "e"]),
    ("reflog", ["HEAD", "expired", "main@{1}", "deleted", "drops", "a\nb"], ["expire", "delete", "drop", ""]),
    ("process-ids", ["1", "1,2", "1 2"], ["a", "", "1-2", "1,a"]),
    ("process-list", ["aux", "axf", "12", "Tw"], ["auxe", "e", "", "a1", "1a"]),
    ("count", ["12", "7"], ["a", "", "-1", "1.5", "12a"]),
    ("duration", ["5", "1.5", "5.", ".5", "5s", "1.5m", "2h", ".5d"], ["", ".", "s", "5x", "5ss", "1.5.5", "-5"]),
    (
        "make-goal",
        [
            "all", "a/b.o", "%.o", "a-b_c+d", "V=1", "V=", "V=1.2-rc", "A_9=true", "X=false", "x=yes", "x=no", "x=on",
            "x=off", "T=debug", "T=Debug", "T=release", "T=Release", "E=development", "E=production", "E=test", "E=all",
        ],
        ["", "V=sh", "1V=1", "=1", "V=1;sh", "V=1 sh", "V=$(sh)", "V=truex", "a:b", "V==", "V=-1", "V=true/sh"],
    ),
    (
        "cmake-setting",
        ["A=b", "A:STRING=b", "A=", "A=a b", "A=a\nb"],
        [
            "CMAKE_C_COMPILER=b", "A_LAUNCHER=b", "A_LINKER=b", "A_PROGRAM=b", "A_TOOLCHAIN_FILE=b", "A_EXECUTABLE=b",
            "A_COMMAND=b", "COMPILER=b", "A=b\nCOMMAND", "A=b;c", "A=$c", "=b", "A", "", "A B=c",
        ],
    ),
    (
        "sql-query",
        [
            "select 1", " SELECT a FROM b ; ", "select count(*) from a", "select count (*) from a", "explain select 1",
            "with a as (select 1) select * from a", ".tables", " .tables ", ".schema a", ".schema  a ", ".indexes",
            ".databases", "select\n1", "select 1;", "select (1)", "select 'a' from b",
        ],
        [
            "", "select edit(1)", "select edit (1)", "select 1; drop table a", "delete from a", "selects",
            "select /* a */ 1", 'select "edit"(1)', 'select "edit" (1)', "select `edit`(1)", "select [edit] (1)",
            ".shell a", ".schema a b", ".tablesx", "tables", "select 1;;", "select\nedit(1)", "a select 1",
            "select count(1), edit(1)", "select 1 -- a", "select\n/* a */ 1", ".output a",
        ],
    ),
    ("plain-path", ["a", "a@b", "a+b", "a\nb", "./@a"], ["@a", "+a", ""]),
    (
        "jq-filter",
        [".a", "", ".environment", ".a\n|.b", "important", "included", "$envy", ".a[0]"],
        [
            "env", ".a|env.B", "$ENV", "$__loc__", 'include "a"; .', 'import "a" as b; .', "modulemeta",
            "input_filename", "get_search_list", ".a\n|env",
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "good", "bad"), KINDS, ids=[kind for kind, *_ in KINDS])
def test_values_of_checked_kinds_must_match(kind: str, good: list[str], bad: list[str]):
    described = program(f"--y:{kind}")
    read = {text: parse((fixed_word("x"), fixed_word(f"--y={text}")), described) for text in [*good, *bad]}
    assert [text for text in good if not isinstance(read[text], Parsed)] == []
    assert [text for text in bad if read[text] != Undescribed(1)] == []


@pytest.mark.parametrize(
    ("kind", "value", "taken"),
    [
        *((kind, "-a", True) for kind in ("pattern", "git-sort", "sort-key", "mode", "anything")),
        *((kind, "-a", False) for kind in ("text", "path", "plain-path", "plain-text", "archive")),
        *(("text", value, True) for value in ("-1", "-.5", "-", "a-b")),
        *(("text", value, False) for value in ("--", "--a", "-\n")),
    ],
)
def test_values_of_some_kinds_may_begin_with_a_dash(kind: str, value: str, taken: bool):
    words = (fixed_word("x"), fixed_word("--y"), fixed_word(value))
    assert isinstance(parse(words, program(f"--y:{kind}")), Parsed) == taken


@pytest.mark.parametrize("kind", ["path", "pattern-file"])
def test_a_pattern_that_matches_files_is_one_path_for_each_kind_of_path(kind: str):
    parsed = parse(words_of("x a*"), program("", f"{kind}*"))
    assert isinstance(parsed, Parsed)
    assert [name for name, _ in parsed.arguments] == [kind]


def test_the_folder_of_a_pattern_is_read_whatever_its_words_are_for():
    parsed = parse(words_of("x a*"), program("", "anything*"))
    assert isinstance(parsed, Parsed)
    assert [(kind, word.source) for kind, word in parsed.arguments] == [("anything", "a*"), ("path", "a*")]


@pytest.mark.parametrize(("matches", "taken"), [(("a",), True), (("a", "b"), False), (("a", "b", "c"), False)])
def test_a_pattern_for_one_value_must_match_one_file(matches: tuple[str, ...], taken: bool):
    pattern = replace(words_of("a*")[0], values=matches)
    words = (fixed_word("x"), fixed_word("-y"), pattern)
    assert isinstance(parse(words, program("-y:path")), Parsed) == taken


def test_every_checked_kind_has_good_and_bad_values():
    assert [kind for kind, *_ in KINDS] == list(CHECKED_KINDS)


def test_all_words_that_could_name_files_are_listed():
    words = values_of(words_of("x a -b -c/d -ij --e --f=/g h"))
    assert [word.text for word in words] == ["a", "/d", "j", "/g", "h"]


@pytest.mark.parametrize("table", [READERS, GIT_COMMANDS, RULED_TOOLS], ids=["readers", "git", "ruled"])
def test_descriptions_are_well_formed(table: dict[str, Program]):
    for name, described in table.items():
        assert all(option.startswith("-") for option in described.kinds), name
        assert all(option in described.kinds or option == "always" for option in described.recursive), name
        assert all(not kind.endswith("*") for kind in described.operands.split()[:-1]), name
