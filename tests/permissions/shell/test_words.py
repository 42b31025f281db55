"""Words, and lists in braces."""

from __future__ import annotations

import pytest

from handrail.permissions.shell.words import (
    HERE,
    HOLE,
    HOME,
    MOST_BRACE_WORDS,
    NUMBER,
    Word,
    expand_braces,
    fixed_word,
)


@pytest.mark.parametrize(
    ("word", "fixed", "known", "may_be_option"),
    [
        (fixed_word("a"), True, True, False),
        (fixed_word("-a"), True, True, False),
        (fixed_word(""), True, True, False),
        (fixed_word("*"), True, True, False),
        (Word(f"a{HOME}", "a~"), False, True, False),
        (Word(HERE, "$PWD"), False, True, False),
        (Word(NUMBER, "$#"), False, True, False),
        (Word(f"a{HOLE}", '"a$x"', ("x",)), False, False, False),
        (Word(HOLE, '"$x"', ("x",)), False, False, True),
        (Word(f"a{HOLE}", "a$x", ("x",), splits=True), False, False, True),
        (Word("a*", "a*", globs=True), False, True, False),
        (Word("*a", "*a", globs=True), False, True, True),
        (Word("?", "?", globs=True), False, True, True),
        (Word("[a]", "[a]", globs=True), False, True, True),
    ],
)
def test_it_is_known_what_a_word_may_become(word: Word, *, fixed: bool, known: bool, may_be_option: bool):
    assert (word.fixed, word.known, word.may_be_option) == (fixed, known, may_be_option)


def test_a_fixed_word_is_what_it_says():
    assert fixed_word("a b") == Word("a b", "a b", (), splits=False, globs=False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a{b,c}", ["ab", "ac"]),
        ("{a,b}{c,d}e", ["ace", "ade", "bce", "bde"]),
        ("{a,}x", ["ax", "x"]),
        ("{,}", ["", ""]),
        ("{1..3}", ["1", "2", "3"]),
        ("{3..1}", ["3", "2", "1"]),
        ("{-1..1}", ["-1", "0", "1"]),
        ("{2..2}", ["2"]),
        ("{a..c}", ["a", "b", "c"]),
        ("{X..Z}", ["X", "Y", "Z"]),
        ("x{a}{b,c}", ["x{a}b", "x{a}c"]),
        ("{}{b,c}", ["{}b", "{}c"]),
        ("a,b", ["a,b"]),
        ("{a,b", ["{a,b"]),
        ("a,b}", ["a,b}"]),
        ("a..b", ["a..b"]),
        (f"{{1..{MOST_BRACE_WORDS}}}", [str(number) for number in range(1, MOST_BRACE_WORDS + 1)]),
        ("{1..20}{1..10}", [f"{left}{right}" for left in range(1, 21) for right in range(1, 11)]),
        # Unclear: nested lists, steps, padding, both ends out of order, too many.
        ("{a,{b,c}}", None),
        ("{{a,b}", None),
        ("{a},b}", None),
        ("}{a,b}", None),
        ("}a,b{", None),
        ("{a},{b}", ["{a},{b}"]),
        ("{a{b}c,}", None),
        ("{1..9..2}", None),
        ("{01..10}", None),
        ("{1..010}", None),
        ("{c..a}", None),
        ("{a..Z}", None),
        ("{a..bc}", None),
        ("{1..x}", None),
        ("{..}", None),
        (f"{{0..{MOST_BRACE_WORDS + 1}}}", None),
        (f"{{0..{MOST_BRACE_WORDS}}}", None),
        ("{1..21}{1..10}", None),
        ("{" + "," * MOST_BRACE_WORDS + "}", None),
        ("{" + "a" * MOST_BRACE_WORDS * 50 + ",}", None),
        ("{1234567..1234568}", None),
    ],
)
def test_lists_in_braces_become_words_if_they_are_plain(text: str, expected: list[str] | None):
    assert expand_braces(text) == expected
