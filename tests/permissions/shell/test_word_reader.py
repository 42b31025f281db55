"""Single words, as bash finds them."""

from __future__ import annotations

import re

import pytest

from handrail.permissions.shell.prefilter import prefilter
from handrail.permissions.shell.quotes import Unclear
from handrail.permissions.shell.reading import Notes, Reading
from handrail.permissions.shell.word_reader import DEEPEST, MOST_FROM_BRACES
from handrail.permissions.shell.words import HERE, HOLE, HOME, NUMBER, Word


def read(text: str) -> Reading:
    return prefilter(text, Notes())


def word(text: str) -> Word:
    """The one word that follows a command."""
    found = read(f"c {text}").words
    assert list(found) == [0, 2]
    (only,) = found[2]
    return only


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a", "a"),
        ("a.b-c=/@%+,:^!é日", "a.b-c=/@%+,:^!é日"),
        ("'a b'", "a b"),
        ("'a\\'", "a\\"),
        ("''", ""),
        ('"a b"', "a b"),
        ('"a\\"b\\\\c\\$d\\`e"', 'a"b\\c$d`e'),
        ('"a\\nb"', "a\\nb"),
        ('"a\\\nb"', "ab"),
        ('"it\'s"', "it's"),
        ("a\\ b", "a b"),
        ("\\'", "'"),
        ("\\é", "é"),
        ("a'b'\"c\"d", "abcd"),
        ("$'a\\tb'", "a\tb"),
        ("$", "$"),
        ('"$"', "$"),
        ("a$", "a$"),
        ("$=", "$="),
        ("\"$'a'\"", "$'a'"),
        ("a#b", "a#b"),
        ("{}", "{}"),
        ("a{b}", "a{b}"),
        ("a}", "a}"),
        ("'{a,b}'", "{a,b}"),
        ("a~", "a~"),
        ("'a\nb'", "a\nb"),
        ("[", "["),
    ],
)
def test_a_word_is_exactly_what_the_shell_makes_of_it(source: str, text: str):
    assert word(source) == Word(text, source)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("$x", Word(HOLE, "$x", ("x",), splits=True)),
        ('"$x"', Word(HOLE, '"$x"', ("x",))),
        ("a$x.b", Word(f"a{HOLE}.b", "a$x.b", ("x",), splits=True)),
        ('"$x"$y', Word(HOLE * 2, '"$x"$y', ("x", "y"), splits=True)),
        ("${x}", Word(HOLE, "${x}", ("x",), splits=True)),
        ("${x:-y}", Word(HOLE, "${x:-y}", ("",), splits=True)),
        ("$1", Word(HOLE, "$1", ("1",), splits=True)),
        ('"$@"', Word(HOLE, '"$@"', ("@",))),
        ("$#$?$$", Word(NUMBER * 3, "$#$?$$")),
        ("${#x}", Word(NUMBER, "${#x}")),
        ("$((1+2))", Word(NUMBER, "$((1+2))")),
        ("$HOME/a", Word(f"{HOME}/a", "$HOME/a")),
        ('"${PWD}/a"', Word(f"{HERE}/a", '"${PWD}/a"')),
        ("$(pwd)/a", Word(f"{HERE}/a", "$(pwd)/a")),
        ("$( pwd )", Word(HERE, "$( pwd )")),
        ("$(a)", Word(HOLE, "$(a)", ("",), splits=True)),
        ('"$(a)"', Word(HOLE, '"$(a)"', ("",))),
        ("`a`", Word(HOLE, "`a`", ("",), splits=True)),
        ('"`a`"', Word(HOLE, '"`a`"', ("",))),
        ("<(a)", Word(HOLE, "<(a)", ("",))),
        (">(a)", Word(HOLE, ">(a)", ("",))),
        ("~", Word(HOME, "~")),
        ("~/a", Word(f"{HOME}/a", "~/a")),
        ("a=~/b", Word(f"a={HOME}/b", "a=~/b")),
        ("a:~:b", Word(f"a:{HOME}:b", "a:~:b")),
        ("~root/a", Word(f"{HOLE}/a", "~root/a", ("",))),
        ("a*", Word("a*", "a*", globs=True)),
        ("?", Word("?", "?", globs=True)),
        ("[a]", Word("[a]", "[a]", globs=True)),
        ("'a'*", Word("a*", "'a'*", globs=True)),
        ("a]", Word("a]", "a]")),
    ],
)
def test_it_is_kept_what_is_not_known_of_a_word(source: str, expected: Word):
    assert word(source) == expected


@pytest.mark.parametrize("follows", ["", " ", "\t", "\n", ";", "&", "| d", ">a", ")"])
def test_a_tilde_alone_is_the_home_whatever_ends_the_word(follows: str):
    text = f"(c ~{follows}" + ("" if ")" in follows else ")")
    assert read(text).words[3] == (Word(HOME, "~"),)


def test_a_list_in_braces_becomes_several_words():
    assert read("c a{b,,c}*").words[2] == tuple(Word(text, "a{b,,c}*", globs=True) for text in ("ab*", "a*", "ac*"))
    assert read("c {,}").words[2] == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("c 'a", "a quote is not closed"),
        ('c "a', "a quote is not closed"),
        ('c "a\\"', "a quote is not closed"),
        ("c $'a", "a quote is not closed"),
        ("c a\\", "it ends in a backslash"),
        ("c a\\\nb", "a word is continued on the next line"),
        ("c `a", "backquotes are not closed, or contain a backslash"),
        ("c `a\\b`", "backquotes are not closed, or contain a backslash"),
        ("c $[1]", "`$` before a quote or a square bracket is not read here"),
        ('c "$[1]"', "`$` before a quote or a square bracket is not read here"),
        ('c $"a"', "`$` before a quote or a square bracket is not read here"),
        ("c $\\a", "a backslash follows a dollar"),
        ('c "$\\a"', "a backslash follows a dollar"),
        ("c a<(b)", "a substitution begins within a word"),
        ("c a\u00a0b", "it contains a blank that does not separate words"),
        ("c \r", "it contains a blank that does not separate words"),
        ("c > (", "a word is missing"),
        ("c >#a", "a comment is in the place of a word"),
        ("c {x}>a", "a redirection names a variable"),
        ("c {x}<a", "a redirection names a variable"),
        ("c {a,'b'}", "a list in braces is not plain"),
        ("c {a,$b}", "a list in braces is not plain"),
        ("c {~,b}", "a list in braces is not plain"),
        ("c {,b}~/a", "a list in braces is not plain"),
        ("c {$HOME,b}", "a list in braces is not plain"),
        ("c {a,{b,c}}", "a list in braces is not plain"),
        ("c ${x[0]}", "an expansion in ${ } does more than name a variable"),
        ("c $((x[0]))", "an arithmetic expression is more than a plain sum"),
        ("c <<E\na\\\nE\nE\n", "a line of a here-document is continued"),
        ("c <<E\n`a\nE\n", "backquotes are not closed, or contain a backslash"),
    ],
)
def test_ambiguous_word_is_refused(text: str, why: str):
    with pytest.raises(Unclear, match=f"^{re.escape(why)}$"):
        read(text)


def test_a_word_may_end_where_a_line_is_continued():
    assert list(read("c a\\\n b\\\n\tc\\\n").words.values()) == [
        (Word(text, text),) for text in ("c", "a", "b", "c")
    ]  # fmt: skip


def test_braces_before_a_blank_are_plain():
    assert word("{x}") == Word("{x}", "{x}")


def test_lists_in_braces_make_a_limited_number_of_words():
    most = MOST_FROM_BRACES // 199
    assert read("c " + "{1..200} " * most).words
    with pytest.raises(Unclear, match="^lists in braces make too many words$"):
        read("c " + "{1..200} " * (most + 1))


@pytest.mark.parametrize(("opening", "closing"), [("$(", ")"), ('"$(', ')"'), ("<(", ")")])
def test_substitutions_nest_to_a_certain_depth(opening: str, closing: str):
    assert read(f"c {opening}a " * DEEPEST + closing * DEEPEST).inner
    with pytest.raises(Unclear, match="^it is nested too deeply$"):
        read(f"c {opening}a " * (DEEPEST + 1) + closing * (DEEPEST + 1))


def test_depth_is_left_again():
    notes = Notes()
    assert len(prefilter("c " + "$(a `b`) `c` " * (DEEPEST + 1), notes).inner) == 2 * (DEEPEST + 1)
    assert notes.depth == 0


def test_the_scripts_within_are_kept_with_their_places():
    found = read('c $(a b) "`d`" <(e)')
    assert [(at, inner.text, inner.plain) for at, inner in found.inner] == [
        (2, "a b", "w   w "),
        (10, "d", "w "),
        (15, "e", "w "),
    ]
    assert found.inner[0][1].words == {0: (Word("a", "a"),), 2: (Word("b", "b"),)}


def test_the_scripts_of_a_script_within_count_from_its_own_beginning():
    ((_, inner),) = read("c $(aa $(b))").inner
    assert [(at, script.text) for at, script in inner.inner] == [(3, "b")]


def test_a_here_document_may_contain_scripts_and_nothing_else_of_it_matters():
    found = read('c <<E\n\'a "$x" \\$(b) $(d) ${y} $((z)) `e` $ \\\\ \nE\n')
    assert [(at, inner.text) for at, inner in found.inner] == [(6, "d"), (6, "e")]


def test_sums_note_what_they_evaluate_and_what_they_set():
    notes = Notes()
    prefilter("c $((a + b++ - (e = 2) + f-- )) $((g <<= h == i, j += 1, k))", notes)
    assert notes.counted == set("abefghijk")
    assert notes.numbers == set("befgj")
