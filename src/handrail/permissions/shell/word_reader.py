"""Finds one word of a command, and the scripts in it, as bash does.

Quotes, escapes, expansions and substitutions are followed as the shell follows them, to any depth that is allowed.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Final

from handrail.permissions.shell.quotes import Draft, Unclear, ansi_c, arithmetic_end, parameter, variable_sign
from handrail.permissions.shell.reading import Notes, Reading
from handrail.permissions.shell.words import HERE, HOLE, HOME, NUMBER, Word, expand_braces

__all__ = ["NAME_OF_VARIABLE", "VARIABLES_IN", "WordReader"]

DEEPEST: Final = 12
MOST_FROM_BRACES: Final = 1000
NAME_OF_VARIABLE: Final = re.compile(r"[A-Za-z_]\w*")
_HOME_OF: Final = re.compile(r"[\w.+-]*")
_PLAIN: Final = re.compile(r"[^\s\\'\"`$&|;<>()*?\[{}~#]+")
_VARIABLE: Final = re.compile(r"\$([A-Za-z_]\w*|[0-9@*#?$!-])")
VARIABLES_IN: Final = re.compile(r"\$\{?#?([A-Za-z_]\w*)")
_BACKTICKS: Final = re.compile(r"`([^`\\]*)`")
_IN_DOUBLE: Final = re.compile(r"[^\"\\$`]+")
_IN_DOCUMENT: Final = re.compile(r"[^\\$`]+")
_SET_IN_SUM: Final = re.compile(r"\b([A-Za-z_]\w*+)\s*+(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)")
_BRACES_OF_A_DESCRIPTOR: Final = re.compile(r"\{\w+\}")
_SIGNS: Final = re.compile(f"[{HOLE}{HOME}{HERE}{NUMBER}]")
_ENDS_WORD: Final = " \t\n&|;<>()"


class WordReader(ABC):
    """Goes through one text once, from left to right."""

    def __init__(self, text: str, notes: Notes, at: int = 0) -> None:
        self.text, self.notes, self.at, self.begin = text, notes, at, at
        self.end = len(text)
        self.reading = Reading(text)
        if notes.depth > DEEPEST:
            raise Unclear("it is nested too deeply")

    @abstractmethod
    def read(self, closing: str) -> None:
        """Read a whole script, to the end or to the bracket that closes it."""

    def word(self) -> tuple[Word, ...]:
        """The word that begins here; several where braces make several of one."""
        start, draft = self.at, Draft()
        while self.at < self.end:
            if found := _PLAIN.match(self.text, self.at):
                draft.pieces.append(found[0])
                self.at = found.end()
            elif not self._piece(draft, start):
                break
        source = self.text[start : self.at]
        if not source:
            raise Unclear("a word is missing")
        if _BRACES_OF_A_DESCRIPTOR.fullmatch(source) and self.text[self.at : self.at + 1] in tuple("<>"):
            raise Unclear("a redirection names a variable")
        words = _finished(draft, source)
        self.notes.from_braces += max(0, len(words) - 1)
        if self.notes.from_braces > MOST_FROM_BRACES:
            raise Unclear("lists in braces make too many words")
        return words

    def _piece(self, draft: Draft, start: int) -> bool:
        """One piece of a word that begins with a special sign. Returns False at the end of the word."""
        sign = self.text[self.at]
        if sign == "\\" and self.text.startswith("\n", self.at + 1):
            return self._continued()
        if sign in "\\'\"":
            self._quoted(draft, sign)
        elif sign in "$`":
            self._expand(draft, None)
        elif sign in "<>" and self.text.startswith("(", self.at + 1):
            if self.at != start:
                raise Unclear("a substitution begins within a word")
            self._substitution(draft, 2, quoted=True)
            self.notes.detached = True
            if not self.reading.inner[-1][1].text.strip():
                raise Unclear("a substitution runs nothing, and gives no word")
        elif sign in _ENDS_WORD:
            return False
        elif sign == "~":
            self._tilde(draft, start)
        elif sign in "*?[{}#":
            if sign == "#" and self.at == start:
                raise Unclear("a comment is in the place of a word")
            draft.globs = draft.globs or sign in "*?["
            draft.braces = draft.braces or sign == "{"
            draft.pieces.append(sign)
            self.at += 1
        else:
            raise Unclear("it contains a blank that does not separate words")
        return True

    def _continued(self) -> bool:
        """A word may end where a line is continued; one that goes on there could be a keyword in two halves."""
        if self.text[self.at + 2 : self.at + 3] not in ("", " ", "\t"):
            raise Unclear("a word is continued on the next line")
        return False

    def _quoted(self, draft: Draft, sign: str) -> None:
        if sign == "\\":
            if self.at + 1 >= self.end:
                raise Unclear("it ends in a backslash")
            draft.pieces.append(self.text[self.at + 1])
            draft.quoted = True
            self.at += 2
            return
        draft.quoted = True
        if sign == "'":
            end = self.text.find("'", self.at + 1)
            if end < 0:
                raise Unclear("a quote is not closed")
            draft.pieces.append(self.text[self.at + 1 : end])
            self.at = end + 1
            return
        self.at += 1
        while self.at < self.end and self.text[self.at] != '"':
            self._expand(draft, _IN_DOUBLE)
        if self.at >= self.end:
            raise Unclear("a quote is not closed")
        self.at += 1

    def _expand(self, draft: Draft, run: re.Pattern[str] | None) -> None:
        """The next piece where the shell expands: in double quotes, a here-document, or (without `run`) a bare word."""
        quoted = run is not None
        if run and (found := run.match(self.text, self.at)):
            draft.pieces.append(found[0])
            self.at = found.end()
            return
        sign, after = self.text[self.at], self.text[self.at + 1 : self.at + 2]
        if sign == "\\":
            escapes = '$`"\\' if run is _IN_DOUBLE else "$`\\"
            draft.pieces.append(after if after in tuple(escapes) else "" if after == "\n" else sign + after)
            self.at += 2
        elif sign == "`":
            found = _BACKTICKS.match(self.text, self.at)
            if found is None:
                raise Unclear("backquotes are not closed, or contain a backslash")
            self._script(found[1], self.at)
            draft.hole(quoted=quoted)
            self.at = found.end()
        elif after == "(":
            self._dollar_bracket(draft, quoted=quoted)
        elif after == "{":
            start = self.at
            name, self.at = parameter(self.text, start)
            self.notes.used.update(VARIABLES_IN.findall(self.text[start : self.at]))
            draft.hole(name, quoted=quoted, sign=variable_sign(name))
        elif found := _VARIABLE.match(self.text, self.at):
            self.notes.used.update(VARIABLES_IN.findall(found[0]))
            draft.hole(found[1], quoted=quoted, sign=variable_sign(found[1]))
            self.at = found.end()
            if self.text.startswith("\\\n", self.at):
                raise Unclear("the name of a variable may go on in the next line")
        else:
            self._bare_dollar(draft, after, quoted=quoted)

    def _bare_dollar(self, draft: Draft, after: str, *, quoted: bool) -> None:
        if after == "[" or (after == '"' and not quoted):
            raise Unclear("`$` before a quote or a square bracket is not read here")
        if after == "'" and not quoted:
            value, self.at = ansi_c(self.text, self.at)
            draft.pieces.append(value)
            draft.quoted = True
            return
        if after == "\\":
            raise Unclear("a backslash follows a dollar")
        draft.pieces.append("$")
        self.at += 1

    def _dollar_bracket(self, draft: Draft, *, quoted: bool) -> None:
        if self.text.startswith("((", self.at + 1):
            self.sum(self.at + 1)
            draft.hole(quoted=True, sign=NUMBER)
        else:
            self._substitution(draft, 2, quoted=quoted)

    def _substitution(self, draft: Draft, opening: int, *, quoted: bool) -> None:
        """`$(…)`, `<(…)`, `>(…)`: a separate script."""
        start = self.at
        self.notes.depth += 1
        reader = type(self)(self.text, self.notes, start + opening)
        reader.read(")")
        self.notes.depth -= 1
        self.reading.inner.append((start - self.begin, reader.reading))
        self.at = reader.at + 1
        here = reader.reading.text.strip() == "pwd"
        draft.hole(quoted=quoted, sign=HERE if here else HOLE)

    def _script(self, text: str, at: int) -> None:
        self.notes.depth += 1
        reader = type(self)(text, self.notes)
        reader.read("")
        self.notes.depth -= 1
        self.reading.inner.append((at - self.begin, reader.reading))

    def _tilde(self, draft: Draft, start: int) -> None:
        before = self.text[self.at - 1 : self.at] if self.at > start else ""
        after = self.text[self.at + 1 : self.at + 2]
        self.at += 1
        if before not in ("", "=", ":"):
            draft.pieces.append("~")
        elif after in ("", "/", ":", *_ENDS_WORD):
            draft.hole(quoted=True, sign=HOME)
        else:
            named = _HOME_OF.match(self.text, self.at)
            self.at = named.end() if named else self.at
            draft.hole(quoted=True)

    def sum(self, start: int) -> str:
        """Note the sum in `((…))` from its first bracket on, and return its text."""
        end = arithmetic_end(self.text, start + 2)
        inner, self.at = self.text[start + 2 : end], end + 2
        self.note_sum(inner)
        return inner

    def note_sum(self, inner: str) -> None:
        """Remember which variables a sum sets, and which it evaluates."""
        self.notes.numbers.update(_SET_IN_SUM.findall(inner))
        self.notes.counted.update(NAME_OF_VARIABLE.findall(inner))

    def open_document(self, body: str, at: int) -> None:
        """A here-document in which the shell expands: only what it would run or evaluate matters here."""
        if "\\\n" in body:
            raise Unclear("a line of a here-document is continued")
        reader, draft = type(self)(body, self.notes), Draft()
        while reader.at < reader.end:
            reader._expand(draft, _IN_DOCUMENT)
        self.reading.inner += [(at - self.begin, inner) for _, inner in reader.reading.inner]


def _finished(draft: Draft, source: str) -> tuple[Word, ...]:
    text = "".join(draft.pieces)
    if draft.braces and ("," in source or ".." in source):
        plain = not (draft.quoted or draft.names or "~" in text or _SIGNS.search(text))
        expanded = expand_braces(text) if plain else None
        if expanded is None:
            raise Unclear("a list in braces is not plain")
        return tuple(Word(item, source, globs=draft.globs) for item in expanded if item)
    globs = draft.globs and ("*" in source or "?" in source or ("[" in source and "]" in source.partition("[")[2]))
    return (Word(text, source, tuple(draft.names), draft.splits, globs),)
