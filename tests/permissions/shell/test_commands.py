"""Every simple command of a script: its words, where it may run, what it sets, and what is doubtful."""

from __future__ import annotations

import pytest

from handrail.permissions.shell.commands import (
    ANYWHERE,
    DEEPEST_FOLDER,
    DEEPEST_TREE,
    MOST_FOLDERS,
    Assignment,
    Command,
    Folder,
    Script,
    Walk,
    read_script,
)
from handrail.permissions.shell.reading import Notes, Reading, Redirect
from handrail.permissions.shell.words import HOLE, HOME, Word, fixed_word
from tests.permissions.command_words import shown


def commands(text: str) -> list[Command]:
    script = read_script(text)
    assert script.doubts == []
    return script.commands


def places(folders: tuple[Folder, ...]) -> str:
    """`.` is where the shell starts, `./a` below it, `?` anywhere; others begin with a slash or the home's sign."""
    return " ".join("?" if folder == ANYWHERE else shown("/".join((".", *folder))) for folder in folders)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b  c; d", ["a b  c", "d"]),
        ("a && b || c && d", ["a", "b", "c", "d"]),
        ("a | b |& c", ["a", "b", "c"]),
        ("! a", ["a"]),
        ("! a | b", ["a", "b"]),
        ("a & b", ["a", "b"]),
        ("a &", ["a"]),
        ("a\nb\n\nc", ["a", "b", "c"]),
        ("a # b; c\nd", ["a", "d"]),
        ("(a; b) | c", ["a", "b", "c"]),
        ("a | { b; c; } | d", ["a", "b", "c", "d"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("while a; do b; done", ["a", "b"]),
        ("until a; do b; done", ["a", "b"]),
        ("for x in 1 2; do a $x; done; b", ["a $x", "b"]),
        ("for x; do a; done", ["a"]),
        ("for ((i=0; i<3; i++)); do a; done", ["a"]),
        ("case $x in a|b) c;; (d) e;; *) f; esac", ["c", "e", "f"]),
        ("case $(a) in $(b)) c;; esac", ["c", "a", "b"]),
        ("f() { a; }; f", ["a", "f"]),
        ("f() (a)", ["a"]),
        ('a $(b $(c)) `d` <(e) "$(f)"', ['a $(b $(c)) `d` <(e) "$(f)"', "b $(c)", "c", "d", "e", "f"]),
        ("a <<E\n$(b) `c`\nE\nd", ["a", "d", "b", "c"]),
        ("a <<'E'\n$(b)\nE", ["a"]),
        ("a <<-E; b\n\tx\n\tE\nc", ["a", "b", "c"]),
        ("A=1 B=$(b) c", ["A=1 B=$(b) c", "b"]),
        ("for x in $(a); do b; done", ["b", "a"]),
        ("[[ a == $(b) ]] && c", ["[[ a == $(b) ]]", "c", "b"]),
        ("((1)) || a", ["((1))", "a"]),
        ("", []),
        ("# nothing", []),
    ],
)
def test_every_command_is_found_as_it_was_written(text: str, expected: list[str]):
    assert [command.text for command in commands(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b  c", ["a", "b", "c"]),
        ("{b,c} d{1..2}", ["b", "c", "d1", "d2"]),
        ("\"a b\" c'd'e\\ f $'\\t' ''", ["a b", "cde f", "\t", ""]),
        ("~ ~/x ~u a:~ a~", ["⌂", "⌂/x", "□", "a:⌂", "a~"]),
        ('$HOME $PWD $# ${x} ${#x} ${x%y} "$y" $((1+2))', ["⌂", "⌖", "№", "□", "№", "□", "□", "№"]),
        ("[[ a == b && -f c ]]", ["[[", "a", "==", "b", "&&", "-f", "c", "]]"]),
        ("((1 + 2))", ["((", "1 + 2", "))"]),
        ("A=1 b >c d", ["b", "d"]),
        ("A=1", []),
        (">a", []),
    ],
)
def test_a_command_has_its_words_as_the_shell_makes_them(text: str, expected: list[str]):
    (command,) = commands(text)
    assert [shown(word.text) for word in command.words] == expected


def test_a_command_is_called_by_its_first_word_if_that_is_known():
    assert [command.name for command in commands("a b; $x b; a* b; A=1; 'c' d")] == ["a", "", "", "", "c"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cd a; b", [".", ". ./a"]),
        ("cd a && b", [".", "./a"]),
        ("cd a && b; c", [".", "./a", "./a ."]),
        ("cd a && b || c", [".", "./a", "./a ."]),
        ("cd a && cd b || c", [".", "./a", "./a ./a/b ."]),
        ("cd a || b; c", [".", ". ./a", ". ./a"]),
        ("cd a && cd b && c; d", [".", "./a", "./a/b", "./a/b . ./a"]),
        ("cd /a; cd b; c", [".", ". .//a", ". .//a ./b .//a/b"]),
        ("cd a && cd /b && c", [".", "./a", ".//b"]),
        ("cd -; cd x && b", [".", ". ?", "./x ?"]),
        ("cd /a; cd /a && b", [".", ". .//a", ".//a"]),
        ("cd; a", [".", ". ./⌂"]),
        ("cd ~/x; a", [".", ". ./⌂/x"]),
        ("cd -; a", [".", ". ?"]),
        ("cd -- -; a", [".", ". ?"]),
        ("cd -P -- a; b", [".", ". ./a"]),
        ("cd -PL a; b", [".", ". ./a"]),
        ("cd $x; a", [".", ". ?"]),
        ("cd a$x; b", [".", ". ?"]),
        ("cd /a$x; b", [".", ". ?"]),
        ("cd a*; b", [".", ". ?"]),
        ('cd "$PWD/x"; b', [".", ". ./⌖/x"]),
        ("command cd a; b", [".", ". ./a"]),
        ("command -p cd a; b", [".", ". ./a"]),
        ("time command cd a && b", [".", "./a"]),
        ("builtin cd /x && b", [".", ".//x"]),
        ("command; b", [".", "."]),
        ("command ls cd; b", [".", "."]),
        ("ls cd; b", [".", "."]),
        ("pushd a; b", [".", ". ?"]),
        ("popd; b", [".", ". ?"]),
        ("eval cd a; b", [".", ". ?"]),
        ("source a; b", [".", ". ?"]),
        (". a && b", [".", "?"]),
        ("$x a; b", [".", ". ?"]),
        ("(cd a; b); c", [".", ". ./a", "."]),
        ("cd a | b; c", [".", ".", "."]),
        ("a | cd b | c; d", [".", ".", ".", "."]),
        ("! cd a && b", [".", ". ./a"]),
        ("cd a && { cd b; } && c", [".", "./a", "./a ./a/b"]),
        ("cd a && (b; cd c) && d", [".", "./a", "./a", "./a"]),
        ("a && cd b; c", [".", ".", ". ./b"]),
        ("x=1; cd a && y=2 && b", [".", ".", "./a", "./a"]),
        ("if a; then cd b; c; fi; d", [".", ".", ". ./b", ". ./b"]),
        ("if a; then b; else cd c && d; fi; e", [".", ".", ".", "./c", "./c ."]),
        ("if a; then b; elif cd c && d; then e; fi; f", [".", ".", ".", "./c", "./c .", "./c ."]),
        ("case x in a) cd b;; *) c;; esac; d", [".", ". ./b", ". ./b"]),
        ("{ cd a; b; }; c", [".", ". ./a", ". ./a"]),
        ("while a; do cd b; c; done; d", [". ?", ". ?", ". ./b ?", ". ./b ?"]),
        ("while a; do b; done; d", [".", ".", "."]),
        ("a; while b; do cd c; done", [".", ". ?", ". ?"]),
        ("a; f() { b; }", [".", ". ?"]),
        ("for x in 1; do cd b; done; d", [". ?", ". ./b ?"]),
        ("f() { a; b $(c); }; d", [". ?", ". ?", ".", ". ?"]),
        ("cd a; b $(cd c; d) e; f $(g)", [".", ". ./a", ". ./a", ". ./a", ". ./a ./c ./a/c", ". ./a"]),
        ("cd a && b $(c); d $(e)", [".", "./a", "./a .", "./a", "./a ."]),
        ("cd a && b; for x in $(c); do d; done", [".", "./a", "./a .", ". ./a"]),
        ("while b $(c); do cd d; done", [". ?", ". ?", ". ?"]),
        ("cd a; { b; } >c", [".", ". ./a", ". ./a"]),
        ("(cd a && b) >c", [".", "./a", ". ./a"]),
        ("f() { a; } >b", [". ?", ". ?"]),
        ("$(a) && b", [".", "?", "."]),
    ],
)
def test_it_is_known_in_which_folders_a_command_may_run(text: str, expected: list[str]):
    assert [places(command.folders) for command in commands(text)] == expected


def test_a_script_begins_in_the_folders_that_are_given():
    script = read_script("a; cd b; c", (("x",), ("/y",)))
    assert [places(command.folders) for command in script.commands] == [
        "./x .//y",
        "./x .//y",
        "./x .//y ./x/b .//y/b",
    ]


def test_too_many_folders_become_anywhere():
    names = [f"/{number}" for number in range(MOST_FOLDERS + 2)]
    found = commands("; ".join(f"cd {name}" for name in names))
    assert found[MOST_FOLDERS - 1].folders == ((), *((name,) for name in names[: MOST_FOLDERS - 1]))
    assert found[MOST_FOLDERS].folders == ((), *((name,) for name in names[: MOST_FOLDERS - 2]), ANYWHERE)


def test_a_very_deep_folder_is_anywhere():
    found = commands(" && ".join(["cd a"] * (DEEPEST_FOLDER + 3)))
    assert found[DEEPEST_FOLDER].folders == (("a",) * DEEPEST_FOLDER,)
    assert [command.folders for command in found[DEEPEST_FOLDER + 1 :]] == [(ANYWHERE,)] * 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "2>a b <c >>d &>e 3>&1 >|f <>g <<<h &>>i <&j",
            ["> a", "< c", ">> d", "&> e", ">& 1", ">| f", "<> g", "<<< h", "&>> i", "<& j"],
        ),
        (">$x a", ["> □"]),
        ("a <<E\nE", ["<< "]),
        ("a <<-'E'\nE", ["<<- "]),
        ("<b", ["< b"]),
        ("A=1 >b", ["> b"]),
        ("a >'b c'", ["> b c"]),
        ("a", []),
    ],
)
def test_a_command_has_its_redirections(text: str, expected: list[str]):
    (command,) = commands(text)
    assert [f"{item.operator} {shown(item.target.text)}" for item in command.redirects] == expected


def test_each_redirection_belongs_to_its_own_command():
    found = commands("a 2>b | c >d; >e; f")
    assert [[item.target.text for item in command.redirects] for command in found] == [["b"], ["d"], ["e"], []]


def test_redirections_of_blocks_and_loops_are_commands_without_words():
    assert commands("{ a; } >b 2>&1; while c; do d; done <e")[3:] == [
        Command((), (), (Redirect(">", Word("b", "b")),), ((),), ">b"),
        Command((), (), (Redirect(">&", Word("1", "1")),), ((),), ">&1"),
        Command((), (), (Redirect("<", Word("e", "e")),), ((),), "<e"),
    ]


def test_a_command_has_the_variables_that_are_set_for_it():
    first, second, third = commands("A=1 B+=$x c; D=; E='a b'=c F=2")
    assert first.assignments == (Assignment("A", Word("1", "1")), Assignment("B", Word(HOLE, "$x", ("x",))))
    assert second.assignments == (Assignment("D", Word("", "")),)
    assert third.assignments == (Assignment("E", Word("a b=c", "'a b'=c")), Assignment("F", Word("2", "2")))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A=1 B=$(b) c", {"A": ["1"], "B": ["□"]}),
        ("A=1; A=2", {"A": ["1", "2"]}),
        ("A+=x b", {"A": [None]}),
        ("export A=1 B C+=2", {"A": ["1"], "B": [None], "C": [None]}),
        ("local A=1", {"A": ["1"]}),
        ("declare A=$x", {"A": ["□"]}),
        ("readonly A=a=b", {"A": ["a=b"]}),
        ("typeset A", {"A": [None]}),
        ("read x y", {"x": [None], "y": [None]}),
        ("unset x", {"x": [None]}),
        ("mapfile x", {"x": [None]}),
        ("readarray x", {"x": [None]}),
        ("getopts ab x", {"ab": [None], "x": [None]}),
        ("printf -v x y", {"-v": [None], "x": [None], "y": [None]}),
        ("echo A=1", {}),
        ("for x in a $y {1..2}; do b; done", {"x": ["a", None, "1", "2"]}),
        ("for x; do b; done", {"x": [None]}),
    ],
)
def test_it_is_noted_what_variables_are_set_to(text: str, expected: dict[str, list[str | None]]):
    given = read_script(text).notes.values
    assert {name: [word and shown(word.text) for word in words] for name, words in given.items()} == expected


def test_the_value_of_an_exported_variable_keeps_what_it_was_made_of():
    assert read_script("export A=x$y").notes.values == {"A": [Word(f"x{HOLE}", "A=x$y", ("y",))]}


def test_notes_of_an_outer_script_are_kept():
    notes = Notes()
    notes.give("x", fixed_word("1"))
    script = read_script("x=2", notes=notes)
    assert script.notes is notes
    assert notes.known_values("x") == ["1", "2"]


FUNCTION = "a function changes where commands run"
DIFFERENTLY = "parser and shell may read this differently"
KEYWORD = "a keyword is out of place"


@pytest.mark.parametrize(
    ("text", "doubts"),
    [
        ("a 'b", ["a quote is not closed"]),
        ("a $(b 'c)", ["a quote is not closed"]),
        ("!", ["its structure is not that of a shell command"]),
        ("for x in; do a; done", ["its structure is not that of a shell command"]),
        ("! ! a", [DIFFERENTLY, KEYWORD]),
        ("f() { cd a; }", [FUNCTION]),
        ("f() { b; eval c; }", [FUNCTION]),
        ("cd() { a; }", [FUNCTION]),
        ("command() { a; }", [FUNCTION]),
        ("f() (cd a)", []),
        ("(( x + 1 ))", ["x is evaluated as a sum, and what it holds is not known"]),
        ("x=1; (( x + 1 ))", []),
        ("x=$y; a $(( x ))", ["x is evaluated as a sum, and what it holds is not known"]),
        ("[[ -v x ]] && [[ -v y ]]", ["a test looks up a variable by a name that is worked out"]),
    ],
)
def test_unknown_syntax_is_a_doubt(text: str, doubts: list[str]):
    assert read_script(text).doubts == doubts


def test_a_text_that_cannot_be_read_has_no_commands():
    assert read_script("a; b 'c").commands == []


@pytest.mark.parametrize(("opening", "closing"), [("( ", " )"), ("{ ", "; }")])
def test_nesting_is_followed_to_a_certain_depth(opening: str, closing: str):
    deep = DEEPEST_TREE - 1
    assert read_script(opening * deep + "a" + closing * deep).doubts == []
    assert [command.text for command in commands(opening * deep + "a" + closing * deep)] == ["a"]
    script = read_script(opening * (deep + 1) + "a" + closing * (deep + 1))
    assert (script.doubts, script.commands) == (["it is nested too deeply", DIFFERENTLY], [])


def test_a_statement_of_an_unknown_kind_is_a_doubt():
    script = Script()
    Walk(script, Reading("[[ a ]]", plain="[[ a ]]"), ((),)).run()
    assert (script.commands, script.doubts) == ([], ["`test_command` is not understood"])


def test_a_word_that_only_the_parser_finds_is_a_doubt():
    script = Script()
    Walk(script, Reading("a b", plain="a   b", words={0: (fixed_word("a"),)}, sizes={0: 2}), ((),)).run()
    assert (script.commands, script.doubts) == ([], [KEYWORD, DIFFERENTLY])


def test_a_word_that_only_the_reader_finds_is_a_doubt():
    script = Script()
    words = {0: (fixed_word("a"),), 2: (fixed_word("b"),)}
    Walk(script, Reading("a b", plain="a     ", words=words, sizes={0: 1}), ((),)).run()
    assert ([command.text for command in script.commands], script.doubts) == (["a"], [DIFFERENTLY])


def test_a_command_with_another_number_of_words_is_a_doubt():
    script = Script()
    Walk(script, Reading("a", plain="a", words={0: (fixed_word("a"),)}, sizes={0: 2}), ((),)).run()
    assert ([command.text for command in script.commands], script.doubts) == (["a"], [DIFFERENTLY])


def test_depth_is_left_again():
    text = "; ".join(["( ( a ) )"] * DEEPEST_TREE)
    assert len(commands(text)) == DEEPEST_TREE


def test_depth_is_counted_after_a_long_list():
    deep = "( " * DEEPEST_TREE + "a" + " )" * DEEPEST_TREE
    assert "it is nested too deeply" in read_script("b\n" * 200 + deep).doubts


def test_depth_is_counted_behind_other_statements_of_each_level():
    deep = "( b; " * DEEPEST_TREE + "a" + " )" * DEEPEST_TREE
    assert "it is nested too deeply" in read_script(deep).doubts


def test_a_long_list_is_not_deep():
    assert len(commands(" && ".join(["a"] * 300))) == 300


@pytest.mark.parametrize("text", [" && ".join(["a"] * 301), "a " * 4001, f"for x in {'a ' * 4001}; do ls; done"])
def test_a_script_with_too_many_words_is_not_read_to_its_end(text: str):
    assert read_script(text).doubts == ["it has too many words"]


def test_home_is_where_a_bare_cd_goes():
    assert commands("cd && a")[1].folders == ((HOME,),)
