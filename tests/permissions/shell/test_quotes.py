"""Quotes and expansions."""

from __future__ import annotations

import re

import pytest

from handrail.permissions.shell.quotes import Draft, Unclear, ansi_c, arithmetic_end, parameter, variable_sign
from handrail.permissions.shell.words import HERE, HOLE, HOME, NUMBER


def test_a_hole_without_quotes_splits_a_word():
    draft = Draft()
    draft.hole("x", quoted=True)
    assert (draft.pieces, draft.names, draft.splits) == ([HOLE], ["x"], False)
    draft.hole(quoted=False)
    draft.hole("y", quoted=True)
    assert (draft.pieces, draft.names, draft.splits) == ([HOLE] * 3, ["x", "", "y"], True)


def test_value_of_a_known_kind_is_not_a_hole():
    draft = Draft()
    draft.hole("HOME", quoted=False, sign=HOME)
    assert (draft.pieces, draft.names, draft.splits) == ([HOME], [], False)
    assert (draft.quoted, draft.globs, draft.braces) == (False, False, False)


@pytest.mark.parametrize(
    ("name", "sign"),
    [("HOME", HOME), ("PWD", HERE), ("#", NUMBER), ("?", NUMBER), ("$", NUMBER), ("x", HOLE), ("1", HOLE), ("", HOLE)],
)
def test_some_variables_are_known_in_kind(name: str, sign: str):
    assert variable_sign(name) == sign


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$'a b'", "a b"),
        ("$''", ""),
        (r"$'\t\n\\\'\"\?'", "\t\n\\'\"?"),
        (r"$'\a\b\e\E\f\r\v'", "\a\b\x1b\x1b\f\r\v"),
        (r"$'\x41\x9z'", "A\tz"),
        (r"$'\101\60'", "A0"),
        (r"$'\u41\u00e9\U1F00'", "Aé\u1f00"),
        ("$'a\nb'", "a\nb"),
        (r"$'\x7f'", "\x7f"),
        (r"$'\ud7ff'", "\ud7ff"),
    ],
)
def test_quoted_escapes_are_worked_off(text: str, value: str):
    assert ansi_c(f"__{text}rest'", 2) == (value, 2 + len(text))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("$'a", "a quote is not closed"),
        (r"$'a\'", "a quote is not closed"),
        (r"$'\x00'", "a quoted escape makes an invalid character"),
        (r"$'\x1f'", "a quoted escape makes an invalid character"),
        (r"$'\x80'", "a quoted escape makes an invalid character"),
        (r"$'\200'", "a quoted escape makes an invalid character"),
        (r"$'\0'", "a quoted escape makes an invalid character"),
        (r"$'\ud800'", "a quoted escape makes an invalid character"),
        (r"$'\U110000'", "a quoted escape makes an invalid character"),
        (r"$'\cA'", "a quoted escape is not known"),
        (r"$'\q'", "a quoted escape is not known"),
        (r"$'\xg'", "a quoted escape is not known"),
    ],
)
def test_odd_escapes_are_refused(text: str, why: str):
    with pytest.raises(Unclear, match=f"^{why}$"):
        ansi_c(text, 0)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("${x}", "x"),
        ("${_a1}", "_a1"),
        ("${10}", "10"),
        ("${@}", "@"),
        ("${?}", "?"),
        ("${#x}", "#"),
        ("${#}", "#"),
        ("${#@}", "#"),
        ("${x:-a b}", ""),
        ("${x-}", ""),
        ("${x:+$y z}", ""),
        ("${x%%.*}", ""),
        ("${x##*/}", ""),
        ("${x/a/$b}", ""),
        ("${x//a/b}", ""),
        ("${x^^}", ""),
        ("${x,}", ""),
        ("${x:?gone}", ""),
    ],
)
def test_an_expansion_names_a_variable(text: str, name: str):
    assert parameter(f"__{text}}}", 2) == (name, 2 + len(text))


@pytest.mark.parametrize(
    "text",
    [
        "${",
        "${}",
        "${x",
        "${!x}",
        "${x[0]}",
        "${x:1:2}",
        "${x@P}",
        "${x=y}",
        "${x:=y}",
        "${x:-$(y)}",
        "${x:-`y`}",
        "${x:-${y}}",
        "${x:-'y'}",
        '${x:-"y"}',
        "${x:-\\y}",
        "${x:-\n}",
        "${x:-$1}",
        "${x:-$}",
        "${x y}",
        "${x:-" + "$aaaa" * 500,
    ],
)
def test_an_expansion_that_does_more_is_refused(text: str):
    with pytest.raises(Unclear, match=re.escape("an expansion in ${ } does more than name a variable")):
        parameter(text, 0)


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("((1))", "1"),
        ("((x + (y * 2)))", "x + (y * 2)"),
        ("(($x <= $# && y++ || $? != 0))", "$x <= $# && y++ || $? != 0"),
        ("((a ? b : c, ~d ^ e % f | g & !h))", "a ? b : c, ~d ^ e % f | g & !h"),
        ("(( ))", " "),
        ("(())", ""),
        ("((1)) && ((2", "1"),
        ("((1\n+2))", "1\n+2"),
        ("((()))", "()"),
    ],
)
def test_a_plain_sum_ends_at_its_own_brackets(text: str, inner: str):
    assert arithmetic_end(text, 2) == 2 + len(inner)


@pytest.mark.parametrize(
    "text",
    [
        *("((1", "((1)", "((1) )", "((a[0]))", "(($(x)))", "((`x`))", "(($1))", "((${x}))", "(('1'))", "((1;2))"),
        *("((#))", "(($$))", "(((1))", "((1.5))"),
    ],
)
def test_a_sum_that_is_more_than_plain_is_refused(text: str):
    with pytest.raises(Unclear, match="^an arithmetic expression is more than a plain sum$"):
        arithmetic_end(text, 2)
