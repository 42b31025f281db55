"""Reads a command by the shell's own rules for words, before any parser sees it. Raises `Unclear`.

A parser for shells and the shell itself disagree about some texts: a backslash before a blank, a newline before a
backslash, a `#` after one, limiters of here-documents, continued lines. Here each word is found as bash finds it; the
parser then gets a text that has nothing but plain words, keywords and operators. What bash could read in two ways, or
what is not in the small language understood here, is refused as Unclear. One pass, and the work grows with the length.
"""

from __future__ import annotations

import re
from typing import Final

from handrail.permissions.shell.conditions import check_test
from handrail.permissions.shell.nesting import Nesting
from handrail.permissions.shell.quotes import Unclear, arithmetic_end
from handrail.permissions.shell.reading import OF_COMPOUND, SCALE, Notes, Reading, Redirect
from handrail.permissions.shell.word_reader import NAME_OF_VARIABLE, WordReader
from handrail.permissions.shell.words import Word

__all__ = ["prefilter"]

_BLANKS: Final = re.compile(r"(?:[ \t]|\\\n)+")
_OPERATOR: Final = re.compile(r";;&?|;&|&&|\|\||\|&|[;&|()\n]")
_REDIRECT: Final = re.compile(
    r"(?P<number>\d+(?=[<>])|)(?P<operator>&>>|&>|<<<|<<-|<<|<>|<&|<(?!\()|>>|>\||>&|>(?!\())"
)
"""A number belongs to the sign behind it, but not to `&>`: there it is a word."""
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)(\+?=)")
_SUBSCRIPT: Final = re.compile(r"[A-Za-z_]\w*\[")
_TEST: Final = re.compile(r"\[\[[ \t\n]")
_IN_TEST: Final = re.compile(r"&&|\|\||[()<>]")
_CLOSES: Final = re.compile(r"[ \t\n]*\)")
_LIMITER: Final = re.compile(r"(?:'([^'\n]*)'|\"([^\"\\$`\n]*)\"|\\([^\n])|([^\s\\'\"`$&|;<>()]))")

# The place of the reader, which decides what the next word can be.
COMMAND, PREFIX, ARGUMENT, AFTER, NAME, IN, LIST, CASE, CASE_IN, PATTERN, PATTERN_END, BODY = range(12)
_KEYWORDS: Final = {
    **dict.fromkeys("if then else elif while until do { !".split(), COMMAND),
    **dict.fromkeys("fi done esac }".split(), AFTER),
    "for": NAME,
    "case": CASE,
}
_NOT_READ: Final = frozenset({"function", "select", "coproc", "]]"})
_ENDS: Final = frozenset({"then", "else", "elif", "do", "fi", "done", "esac", "}"})
_FOLLOWED: Final = "more follows a here-document in a substitution, and bash joins some of that to one command"
_JOINS: Final = frozenset({"&&", "||", "|", "|&"})


def prefilter(text: str, notes: Notes) -> Reading:
    """Read a whole command, and note its doubts."""
    reader = _Reader(text, notes)
    reader.read("")
    return reader.reading


class _Reader(WordReader):
    """Tells words, keywords and operators apart, and writes down the plain text."""

    def __init__(self, text: str, notes: Notes, at: int = 0) -> None:
        super().__init__(text, notes, at)
        self.pieces: list[str] = []
        self.written = 0
        self.position = COMMAND
        self.joined = False
        self.closing = ""
        self.nesting = Nesting()
        self.documents: list[tuple[str, bool, bool]] = []
        self.loop_name = ""
        self.count = 0
        self.command_at: int | None = None
        self.leading = 0
        self.leading_redirects: list[Redirect] = []

    def read(self, closing: str) -> None:
        """Read on to the end, or to the bracket that closes this script."""
        self.closing = closing
        while self._skip_blanks() < self.end:
            sign = self.text[self.at]
            if sign == ")" and closing and not self.nesting.brackets and self.position not in (PATTERN, PATTERN_END):
                break
            if sign == "#":
                line_end = self.text.find("\n", self.at)
                self.at = line_end if line_end >= 0 else self.end
            elif found := _REDIRECT.match(self.text, self.at):
                self._redirect(found)
            elif found := _OPERATOR.match(self.text, self.at):
                self._operator(found[0])
            else:
                self._token()
        self._end_command()
        if self.nesting.expected or self.documents or self.joined or (closing and self.at >= self.end):
            raise Unclear("it ends too early")
        self.reading.text = self.text[self.begin : self.at]
        self._write("", self.at)
        self.reading.plain = "".join(self.pieces)

    def _skip_blanks(self) -> int:
        if found := _BLANKS.match(self.text, self.at):
            self.at = found.end()
        return self.at

    def _write(self, plain: str, at: int) -> None:
        """Put a piece into the plain text, at twice the place it has in the text: so a blank follows every piece."""
        place = SCALE * (at - self.begin)
        self.pieces.append(" " * (place - self.written) + plain)
        self.written = place + len(plain)

    def _write_word(self, start: int, name: int = 0) -> None:
        """Put in letters for a word from there to here; for an assignment, with a sign after its name."""
        letters = "w" * (SCALE * (self.at - start) - 1)
        self._write(f"{letters[:name]}={letters[name + 1 :]}" if name else letters, start)

    # Operators

    def _operator(self, operator: str) -> None:
        start, self.at = self.at, self.at + len(operator)
        self._end_command()
        if operator == "\n":
            self._newline(start)
        elif self.documents and self.closing:
            raise Unclear(_FOLLOWED)
        elif operator in "()":
            self._bracket(operator, start)
        elif self._leads_to_pattern(operator):
            self._write(operator, start)
            self._expect(PATTERN)
        elif operator in (";", "&", *_JOINS) and self.position in (PREFIX, ARGUMENT, AFTER, LIST, IN):
            if self.position in (LIST, IN) and operator != ";":
                raise Unclear("a list of a loop ends in an operator")
            self._write("|" if operator == "|&" else operator, start)
            if self.position == IN:
                self.notes.give(self.loop_name, None)
            self._expect(COMMAND)
            self.joined = operator in _JOINS
        else:
            raise Unclear(f"`{operator}` is out of place")

    def _leads_to_pattern(self, operator: str) -> bool:
        if operator == ";;":
            return self.position in (COMMAND, PREFIX, ARGUMENT, AFTER) and self.nesting.in_case()
        return operator == "|" and self.position == PATTERN_END

    def _newline(self, start: int) -> None:
        """Where a newline ends something it becomes a semicolon: the parser overlooks some newlines."""
        if self.position in (PREFIX, ARGUMENT, AFTER, LIST):
            self._write(";", start)
        for limiter, raw, tabs in self.documents:
            self._document(limiter, raw=raw, tabs=tabs)
        if self.documents and self.closing and (self.nesting.expected or not _CLOSES.match(self.text, self.at)):
            raise Unclear(_FOLLOWED)
        self.documents.clear()
        if self.position in (PREFIX, ARGUMENT, AFTER, LIST):
            self._expect(COMMAND)
        elif self.position in (NAME, CASE):
            raise Unclear("a line ends where a name is expected")

    def _expect(self, position: int) -> None:
        self.count = self.count + 1 if position == ARGUMENT else 0
        self.position, self.joined = position, False

    def _bracket(self, bracket: str, start: int) -> None:
        if bracket == ")":
            self._close(start)
        elif self.position == COMMAND and self.text.startswith("(", self.at):
            self._sum_command(start)
        elif self.position in (COMMAND, BODY):
            self._write("(", start)
            self.nesting.pass_keyword("(")
            self._expect(COMMAND)
        elif self.position == PATTERN:
            self._write("(", start)
        elif self.count == 1 and self._skip_blanks() < self.end and self.text[self.at] == ")":
            self._write("(", start)
            self._write(")", self.at)
            self.at += 1
            self._expect(BODY)
        elif self.position == NAME and self.text.startswith("(", self.at):
            self._counting_loop(start)
        else:
            raise Unclear("a bracket is out of place")

    def _close(self, start: int) -> None:
        self._write(")", start)
        if self.position == PATTERN_END:
            self.nesting.empty = False
            self._expect(COMMAND)
        elif self.position in (COMMAND, PREFIX, ARGUMENT, AFTER) and not self.joined:
            self.nesting.pass_keyword(")")
            self._expect(AFTER)
        else:
            raise Unclear("a bracket is closed that was not opened")

    # Sums, each of them one word in the plain text.

    def _sum_command(self, start: int) -> None:
        inner = self.sum(start)
        self._record(start, (Word("((", "(("), Word(inner, inner), Word("))", "))")))
        self.command_at = None
        self._write_word(start)
        self._expect(AFTER)

    def _counting_loop(self, start: int) -> None:
        """`for ((a; b; c))` becomes a loop over one word; it has six signs at least."""
        end = self.text.find("))", self.at)
        parts = self.text[start + 2 : end].split(";")
        if end < 0 or len(parts) != 3:
            raise Unclear("a counting loop is not plain")
        for part in parts:
            arithmetic_end(part + "))", 0)
            self.note_sum(part)
        self.at = end + 2
        self._write("w in w", start)
        self._expect(LIST)

    # Redirections: they are kept apart, and leave blanks in the plain text.

    def _redirect(self, found: re.Match[str]) -> None:
        if self.position not in (COMMAND, PREFIX, ARGUMENT, AFTER):
            raise Unclear("a redirection is out of place")
        start, self.at, operator = found.start(), found.end(), found["operator"]
        closes = operator in (">&", "<&") and self.text.startswith("-", self.at)
        if self._skip_blanks() >= self.end:
            raise Unclear("the target of a redirection is missing")
        target = self._limiter(operator) if operator in ("<<", "<<-") else self._target(closes=closes)
        redirect = Redirect(operator, target)
        if self.position == AFTER:
            self.reading.redirects.setdefault(OF_COMPOUND, []).append(redirect)
        elif self.command_at is None:
            self.leading = self.leading or start
            self.leading_redirects.append(redirect)
        else:
            self.reading.redirects.setdefault(self.command_at, []).append(redirect)
        self.joined = False
        self.position = PREFIX if self.position == COMMAND else self.position

    def _record(self, start: int, words: tuple[Word, ...]) -> None:
        """Keep the words found at a place. With the first of them a command begins, and redirections are its own."""
        self.nesting.empty = False
        if self.command_at is None:
            self.command_at = start - self.begin
            if self.leading_redirects:
                self.reading.redirects[self.command_at] = self.leading_redirects
                self.leading_redirects = []
        self.reading.words[start - self.begin] = words
        self.notes.count_word(new_command=self.command_at not in self.reading.sizes)
        self.reading.sizes[self.command_at] = self.reading.sizes.get(self.command_at, 0) + 1

    def _end_command(self) -> None:
        """A command that is nothing but redirections is one letter in the plain text."""
        if self.leading_redirects:
            self._write("w", self.leading)
            self._record(self.leading, ())
        self.command_at, self.leading = None, 0

    def _target(self, *, closes: bool) -> Word:
        """The file; of `>&-` only the dash, for what touches it is a word of the command."""
        if closes:
            self.at += 1
            return Word("-", "-")
        words = self.word()
        if len(words) != 1:
            raise Unclear("a redirection has several targets")
        return words[0]

    def _limiter(self, operator: str) -> Word:
        """The limiter of a here-document; any quote in it means that the document is taken as it is."""
        start, pieces, raw = self.at, list[str](), False
        while found := _LIMITER.match(self.text, self.at):
            pieces.append(found[1] or found[2] or found[3] or found[4] or "")
            raw = raw or found[4] is None
            self.at = found.end()
        if self.at == start or self.text[self.at : self.at + 1] not in ("", " ", "\t", "\n", *";&|<>)"):
            raise Unclear("the limiter of a here-document is not plain")
        self.documents.append(("".join(pieces), raw, operator == "<<-"))
        return Word("", self.text[start : self.at])

    def _document(self, limiter: str, *, raw: bool, tabs: bool) -> None:
        begin = at = self.at
        while at < self.end:
            stop = self.text.find("\n", at)
            stop = self.end if stop < 0 else stop
            line = self.text[at:stop].lstrip("\t") if tabs else self.text[at:stop]
            if line == limiter:
                self.at = min(stop + 1, self.end)
                if not raw:
                    self.open_document(self.text[begin:at], begin)
                return
            if self.closing and line.startswith(limiter):
                raise Unclear("a line begins as a here-document in a substitution ends, and bash may end it there")
            at = stop + 1
        raise Unclear("a here-document does not end")

    # Words

    def _token(self) -> None:
        start, position = self.at, self.position
        if position == COMMAND and _TEST.match(self.text, start):
            self._test(start)
            return
        words = self.word()
        source = self.text[start : self.at]
        if position in (COMMAND, BODY, AFTER) and source in _KEYWORDS:
            self._keyword(source, start)
        elif position in (NAME, IN, CASE, CASE_IN, PATTERN, PATTERN_END, LIST):
            self._part_of_compound(source, words, start)
        else:
            self._plain_word(source, words, start)

    def _keyword(self, source: str, start: int) -> None:
        if self.position == BODY and source != "{":
            raise Unclear("the body of a function is not in braces")
        if self.position == AFTER and source not in _ENDS:
            raise Unclear("a command follows another without an operator")
        if self.joined and source in _ENDS:
            raise Unclear("a command is missing after an operator")
        self.nesting.pass_keyword(source)
        self._write(source, start)
        self._expect(_KEYWORDS[source])

    def _plain_word(self, source: str, words: tuple[Word, ...], start: int) -> None:
        if self.position in (AFTER, BODY) or (self.position == COMMAND and source in _NOT_READ):
            raise Unclear("a word is out of place")
        found = _ASSIGNMENT.match(source) if self.position in (COMMAND, PREFIX) else None
        if _SUBSCRIPT.match(source) and "=" in source:
            raise Unclear("a part of an array is set")
        self._record(start, words)
        if found:
            if self.text.startswith("(", self.at) or len(words) != 1:
                raise Unclear("an array or a list in braces is set")
            self._write_word(start, found.end(1))
            self._expect(PREFIX)
        else:
            self._write_word(start)
            self._expect(ARGUMENT)

    def _part_of_compound(self, source: str, words: tuple[Word, ...], start: int) -> None:
        """The words between `for` and `do`, or between `case` and a branch."""
        plain, after = "", self.position
        if self.position == NAME:
            if not NAME_OF_VARIABLE.fullmatch(source):
                raise Unclear("the variable of a loop has an invalid name")
            self.loop_name, after = source, IN
            self.notes.loops += 1
        elif self.position in (IN, CASE_IN):
            if source != "in" and not (source == "do" and self.position == IN):
                raise Unclear("`in` is missing")
            plain, after = source, (LIST if self.position == IN else PATTERN) if source == "in" else COMMAND
            if source == "do":
                self.nesting.pass_keyword("do")
                self.notes.give(self.loop_name, None)
        elif self.position == CASE:
            after = CASE_IN
        elif self.position == LIST:
            for word in words:
                self.notes.give(self.loop_name, None if word.splits else word)
        elif self.position == PATTERN and source == "esac":
            self.nesting.pass_keyword("esac")
            plain, after = source, AFTER
        elif self.position == PATTERN:
            after = PATTERN_END
        else:
            raise Unclear("a pattern of a branch has several words")
        if plain:
            self._write(plain, start)
        else:
            self._write_word(start)
        self._expect(after)

    def _test(self, start: int) -> None:
        """`[[ … ]]`, which is one word in the plain text."""
        words = [Word("[[", "[[")]
        self.at += 2
        while True:
            while self._skip_blanks() < self.end and self.text[self.at] == "\n":
                self.at += 1
            if self.at >= self.end:
                raise Unclear("a test is not closed")
            found = _IN_TEST.match(self.text, self.at)
            if found and not self.text.startswith(("<(", ">("), self.at):
                self.at = found.end()
                words.append(Word(found[0], found[0]))
                continue
            words += self.word()
            if words[-1].source == "]]":
                break
        check_test(words, self.notes)
        self._record(start, tuple(words))
        self.command_at = None
        self._write_word(start)
        self._expect(AFTER)
