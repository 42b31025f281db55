"""A whole command, read by the shell's own rules."""

from __future__ import annotations

import re

import pytest

from handrail.permissions.shell.prefilter import prefilter
from handrail.permissions.shell.quotes import Unclear
from handrail.permissions.shell.reading import OF_COMPOUND, SCALE, Notes, Reading
from handrail.permissions.shell.words import Word


def read(text: str) -> Reading:
    return prefilter(text, Notes())


def pieces(plain: str, scale: int) -> list[tuple[int, str]]:
    """The pieces of a plain text with their positions; words and names are given by their lengths."""
    found = re.finditer(r"w+=w*|w+(?![a-z])|[a-z]+|;;|&&|\|\||[;&|(){}!]", plain)
    return [(-(-item.start() // scale), _piece(item[0], scale)) for item in found]


def _piece(text: str, scale: int) -> str:
    name, equals, _ = text.partition("=")
    if equals:
        return f"{len(name)}="
    return f"{-(-len(text) // scale)}w" if set(text) == {"w"} else text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("ab c", "ww w"),
        ("  ab", "  ww"),
        ("a 'b;c' \"d|e\"", "w wwwww wwwww"),
        ("a\\\n b", "w   w"),
        ("a # b", "w    "),
        ("a # b\nc", "w    ;w"),
        ("# a\nb", "    w"),
        ("a; b", "w; w"),
        ("a |& b", "w |  w"),
        ("a | b && c || d & e", "w | w && w || w & w"),
        ("a\n\nb", "w; w"),
        ("a &&\n\nb", "w &&  w"),
        ("a >b 2>&1 c", "w         w"),
        (">b", "w "),
        ("2>b a", "    w"),
        ("a; >b", "w; w "),
        ("A=b c", "w=w w"),
        ("AB+=c d", "ww=ww w"),
        ("A=b", "w=w"),
        ("a A=b", "w www"),
        ("(a)", "(w)"),
        ("{ a; }", "{ w; }"),
        ("{ a\n}", "{ w;}"),
        ("f() { a; }", "w() { w; }"),
        ("f ( ) (a)", "w ( ) (w)"),
        ("if a; then b; else c; fi", "if w; then w; else w; fi"),
        ("if a\nthen b\nelif c\nthen d\nfi", "if w;then w;elif w;then w;fi"),
        ("while a; do b; done", "while w; do w; done"),
        ("for x in a b; do c; done", "for w in w w; do w; done"),
        ("for x in a b\ndo c\ndone", "for w in w w;do w;done"),
        ("for x\ndo a; done", "for w do w; done"),
        ("for x; do a; done", "for w; do w; done"),
        ("for x do a; done", "for w do w; done"),
        ("case a in b|c) d;; *) e; esac", "case w in w|w) w;; w) w; esac"),
        ("case a in (b) ;; esac", "case w in (w) ;; esac"),
        ("case a in esac", "case w in esac"),
        ("((1 + 2)); a", "wwwwwwwww; w"),
        ("[[ a && b ]] || c", "wwwwwwwwwwww || w"),
        ("[[ a\n&& ( b < c ) ]]", "wwwwwwwwwwwwwwwwwwww"),
        ("[[ <(a) == b ]]", "wwwwwwwwwwwwwww"),
        ("a $(b; c) d", "w wwwwwww w"),
        ("a <<E\nb c\nE\nd", "w    ;      w"),
        ("a <<'E F'\nb\nE F\n", "w        ;"),
        ("a <<-E\n\tb\n\tE\nc", "w     ;      w"),
        ("a <<A <<B\n1\nA\n2\nB\nc", "w        ;        w"),
        ("! a", "! w"),
        ("a if then fi", "w ww wwww ww"),
        ("'if' a", "wwww w"),
        ("a &>b", "w "),
        ("", ""),
        ("\n\n", ""),
    ],
)
def test_the_parser_is_given_nothing_but_letters_keywords_and_operators(text: str, plain: str):
    found = read(text)
    assert found.text == text
    assert pieces(found.plain, SCALE) == pieces(plain, 1)
    assert len(found.plain) <= SCALE * len(text)
    assert not re.search(r"[;&|()\w][({})]|[({})][;&|()\w]", found.plain)


def test_a_counting_loop_is_given_as_a_loop_over_one_word():
    assert read("for ((i=0;i<2;i++)); do a; done").plain.split() == "for w in w ; do w ; done".split()


def test_a_line_that_ends_before_the_sign_for_the_end_of_a_branch_is_given_as_two_signs():
    assert read("case a in\nb) c\n;;\nesac").plain.split() == "case w in w ) w ; ;; esac".split()


def test_the_words_of_each_command_are_counted_where_it_begins():
    found = read("A=1 b >c d; [[ e ]]; ((1)); >f")
    assert found.sizes == {0: 3, 12: 1, 21: 1, 28: 1}
    assert found.words[12] == (Word("[[", "[["), Word("e", "e"), Word("]]", "]]"))
    assert found.words[21] == (Word("((", "(("), Word("1", "1"), Word("))", "))"))
    assert found.words[28] == ()


def test_redirections_are_kept_with_the_command_they_belong_to():
    found = read("<a b 2>>c; { d; } >e; >f; (g) <h")
    shown = {at: [f"{item.operator}{item.target.text}" for item in items] for at, items in found.redirects.items()}
    assert shown == {3: ["<a", ">>c"], OF_COMPOUND: [">e", "<h"], 22: [">f"]}


@pytest.mark.parametrize(
    ("limiter", "end"), [("E", "E"), ("'E'", "E"), ('"E F"', "E F"), ("\\E", "E"), ("E'F'", "EF"), ("''", "")]
)
def test_a_here_document_ends_at_its_limiter(limiter: str, end: str):
    found = read(f"a <<{limiter}\nb\n{end}\nc")
    assert [word.text for words in found.words.values() for word in words] == ["a", "c"]
    assert found.redirects[0][0].target == Word("", limiter)


def test_a_here_document_with_a_quoted_limiter_is_taken_as_it_is():
    assert read("a <<'E'\n$(b) \\\n `\nE").inner == []
    assert [inner.text for _, inner in read("a <<E\n$(b)\nE").inner] == ["b"]


def test_only_tabs_before_the_limiter_are_left_out_and_only_where_that_is_asked_for():
    assert list(read("a <<-E\n\t\tE\nb").words) == [0, 11]
    for text in ("a <<E\n\tE\nb", "a <<-E\n E\nb"):
        with pytest.raises(Unclear, match="^a here-document does not end$"):
            read(text)


def test_the_variable_of_a_loop_is_given_each_word():
    notes = Notes()
    prefilter('for x in a "$y" $z {1..2}; do b; done; for u do c; done; for v; do d; done', notes)
    given = {name: [word and word.source for word in words] for name, words in notes.values.items()}
    assert given == {"x": ["a", '"$y"', None, "{1..2}", "{1..2}"], "u": [None], "v": [None]}


def test_a_counting_loop_notes_its_sums():
    notes = Notes()
    prefilter("for ((i=0; i<n; i++)); do a; done", notes)
    assert (notes.counted, notes.numbers) == ({"i", "n"}, {"i"})


FOLLOWED = "more follows a here-document in a substitution, and bash joins some of that to one command"
OUT_OF_PLACE = "` is out of place"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        *((sign + " a", f"`{sign}{OUT_OF_PLACE}") for sign in (";", "&", "|", "|&", "&&", "||", ";;", ";&", ";;&")),
        *((f"a; {sign}", f"`{sign}{OUT_OF_PLACE}") for sign in (";", "&", "|")),
        ("a ;; b", f"`;;{OUT_OF_PLACE}"),
        ("case a in b) c;& esac", f"`;&{OUT_OF_PLACE}"),
        ("a &&", "it ends too early"),
        ("a |", "it ends too early"),
        ("( a", "it ends too early"),
        ("if a; then b", "it ends too early"),
        ("a <<E", "it ends too early"),
        ("a $(b", "it ends too early"),
        ("a $(b &&)", "it ends too early"),
        ("a $( (b)", "it ends too early"),
        ("for x in a && b", "a list of a loop ends in an operator"),
        ("for x & do a; done", "a list of a loop ends in an operator"),
        ("for\nx", "a line ends where a name is expected"),
        ("case\na in b) c;; esac", "a line ends where a name is expected"),
        ("a (b", "a bracket is out of place"),
        ("a b ()", "a bracket is out of place"),
        ("a (", "a bracket is out of place"),
        ("for (a", "a bracket is out of place"),
        ("(a) (b)", "a bracket is out of place"),
        ("(a &&)", "a bracket is closed that was not opened"),
        ("for x in a)", "a bracket is closed that was not opened"),
        ("a)", "`)` is out of place"),
        ("for ((a; b)); do c; done", "a counting loop is not plain"),
        ("for ((a; b; c); do d; done", "a counting loop is not plain"),
        ("for ((a; (b; c)); do d; done", "an arithmetic expression is more than a plain sum"),
        ("for ((a; $(b); c)); do d; done", "an arithmetic expression is more than a plain sum"),
        ("((a[0]))", "an arithmetic expression is more than a plain sum"),
        ("for >a x; do b; done", "a redirection is out of place"),
        ("f() >a { b; }", "a redirection is out of place"),
        ("a >", "the target of a redirection is missing"),
        ("a > ", "the target of a redirection is missing"),
        ("a >{b,c}", "a redirection has several targets"),
        ("a <<$x\n$x\n", "the limiter of a here-document is not plain"),
        ("a << \n\n", "the limiter of a here-document is not plain"),
        ("a <<E`b`\nE\n", "the limiter of a here-document is not plain"),
        ("a <<E\nb", "a here-document does not end"),
        ("a $(b <<E;c\nE\n)", FOLLOWED),
        ("a $(b <<E | c\nE\n)", FOLLOWED),
        ("a $(b <<E\nE\nc)", FOLLOWED),
        ("a $( (b <<E\nE\n) )", FOLLOWED),
        ("a <(b <<E\nE)\nE\n)", "a line begins as a here-document in a substitution ends, and bash may end it there"),
        ("a <<E\nb\nE ", "a here-document does not end"),
        ("f() if a; then b; fi", "the body of a function is not in braces"),
        ("(a) { b; }", "a command follows another without an operator"),
        ("{ a; } if b; then c; fi", "a command follows another without an operator"),
        ("if a; then b && fi", "a command is missing after an operator"),
        ("(a) b", "a word is out of place"),
        ("f() a", "a word is out of place"),
        ("function f { a; }", "a word is out of place"),
        ("select x in a; do b; done", "a word is out of place"),
        ("coproc a", "a word is out of place"),
        ("]] a", "a word is out of place"),
        ("a[0]=b", "a part of an array is set"),
        ("a b[0]=c", "a part of an array is set"),
        ("A=(b c)", "an array or a list in braces is set"),
        ("A={b,c}", "an array or a list in braces is set"),
        ("for 1 in a; do b; done", "the variable of a loop has an invalid name"),
        ("for $x in a; do b; done", "the variable of a loop has an invalid name"),
        ("for x on a; do b; done", "`in` is missing"),
        ("case a do b) c;; esac", "`in` is missing"),
        ("case a in b c) d;; esac", "a pattern of a branch has several words"),
        ("[[ a", "a test is not closed"),
        ("[[ a ] ", "a test is not closed"),
        ("[[ a =~ b(c) ]]", "a pattern of a test is not plain"),
        ("[[ a; b ]]", "a word is missing"),
        ("fi", "`fi` is out of place"),
        ("( )", "`)` is out of place"),
        ("{ }", "`}` is out of place"),
        ("while a; do done", "`done` is out of place"),
        ("case a in b) c;; esac fi", "`fi` is out of place"),
        ("case a in b) c) d;; esac", "`)` is out of place"),
    ],
)
def test_text_that_the_parser_may_misread_is_refused(text: str, why: str):
    with pytest.raises(Unclear, match=f"^{re.escape(why)}$"):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "case a in b) ;; c) d;; esac",
        "if a; then (b); fi",
        "{ (a) }",
        "a $(case b in c) d;; esac)",
        "a $(b) $( (c) )",
        "a b[0]",
        "a ]]",
        "a function",
        "f() {\na\n}\nf",
        "for x in a\n\ndo b; done",
        "case a\nin b) c;; esac",
    ],
)
def test_odd_but_clear_texts_are_read(text: str):
    assert read(text).text == text
