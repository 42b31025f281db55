"""Compiles the contents of Bash rules, such as `git push:*`, `npm run *` or `* --version`, and matches commands.

An allow rule is matched exactly, word by word. A deny or ask rule is matched generously: in any folder of the program,
in any order of options, behind any wrapper. A word that is still unknown may match.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import dropwhile
from typing import Final, Literal

from msgspec import Struct

from handrail.permissions.programs.git import without_global_options
from handrail.permissions.programs.wrappers import passed_on
from handrail.permissions.shell.commands import Command, read_script
from handrail.permissions.shell.words import Word

__all__ = ["Content", "Match", "compile_content", "mentions"]

Kind = Literal["all", "exact", "prefix", "pattern"]
Match = Literal["yes", "perhaps", ""]

_STAR: Final = re.compile(r"(?<!\\)\*")
_BLANKS: Final = re.compile(r"\s+")
_UNQUOTED: Final = re.compile(r"['\"\\]")
_PIECES: Final = re.compile(r"&&|\|\||[;&|\n(){}<>`]")
_BEFORE: Final = re.compile(r"\w+=.*|!|if|then|else|elif|while|until|do|time")


_RECURSIVE: Final = {"-R": "-r", "--recursive": "-r"}
SAME_OPTIONS: Final[dict[str, dict[str, str]]] = {
    "rm": {**_RECURSIVE, "--force": "-f", "--dir": "-d", "--interactive": "-i"},
    "cp": {**_RECURSIVE, "--force": "-f", "--archive": "-a"},
    "mv": {"--force": "-f"},
    "ln": {"--force": "-f", "--symbolic": "-s"},
    **{name: {"--recursive": "-R"} for name in ("chmod", "chown", "chgrp")},
    "grep": {**_RECURSIVE},
    "git": {"-f": "--force", "-d": "--delete", "-u": "--set-upstream", "-n": "--dry-run", "-a": "--all"},
    "kill": {"-KILL": "-9", "-SIGKILL": "-9"},
    "docker": {"-f": "--force", "-v": "--volume"},
    "curl": {"--output": "-o", "--request": "-X", "--data": "-d", "--upload-file": "-T", "--form": "-F"},
    "npm": {"-g": "--global", "--location=global": "--global"},
}
"""Spellings of one option: a rule that names one of them means all."""


class Content(Struct, frozen=True):
    """A content ready for use."""

    kind: Kind
    text: str
    """Without the sign for a prefix, with single blanks."""
    words: tuple[str, ...]
    """The words of an exact content or a prefix; of a pattern, its words with their stars."""
    variables: tuple[tuple[str, str], ...] = ()
    readable: bool = True
    """It is one plain command, so that its words are what the shell would make of it."""

    def allows(self, command: Command) -> int:
        """How many words of the command this content spells out, 0 where it does not allow it.

        For an exact content that is all of them and one more: then nothing of the command was left open.
        """
        if self.kind == "all":
            return 1
        if not self.readable:
            return 0
        words = command.words
        if self.kind == "exact":
            return len(words) + 1 if _texts(words) == self.words and self._same_variables(command) else 0
        if self.kind == "prefix":
            count = len(self.words)
            return count if _texts(words[:count]) == self.words else 0
        return _spelled_out(self.words, words)

    def denies(self, command: Command) -> Match:
        """Does a deny or ask rule with this content mean the command?"""
        if self.matches_text(command.text):
            return "yes"
        if not command.words:
            return ""
        found: set[Match] = set()
        for words in (command.words, without_global_options(command.words)):
            found.add(self._means(words))
        if any(self._means(words) for words in passed_on(command.words)):
            found.add("perhaps")
        return "yes" if "yes" in found else "perhaps" if "perhaps" in found else ""

    def _same_variables(self, command: Command) -> bool:
        return self.variables == tuple((item.name, item.value.text) for item in command.assignments)

    def matches_text(self, text: str) -> bool:
        """Does the content, taken as text, mean this text?"""
        if self.kind == "all":
            return True
        text = _BLANKS.sub(" ", text).strip()
        if self.kind == "pattern":
            return bool(_expression(self.text).fullmatch(text))
        return text == self.text or (self.kind == "prefix" and text.startswith(self.text + " "))

    def _means(self, words: tuple[Word, ...]) -> Match:
        if self.kind == "pattern":
            shown = " ".join([_base(words[0].text), *(word.text for word in words[1:])])
            return "yes" if _expression(self.text).fullmatch(shown) else self._pattern_perhaps(words)
        if not self.words:
            return ""
        compare = _compare_exactly if self.kind == "exact" else _compare_beginning
        return compare(self.words, words)

    def _pattern_perhaps(self, words: tuple[Word, ...]) -> Match:
        first = self.words[0] if self.words else "*"
        known = words[0].fixed and not _word_expression(first).fullmatch(_base(words[0].text))
        return "perhaps" if not known and not all(word.fixed for word in words) else ""


@lru_cache(maxsize=2048)
def compile_content(content: str | None) -> Content:
    """Compile the content of a Bash rule; None for the whole tool."""
    text = _BLANKS.sub(" ", (content or "*").strip())
    if text in ("*", ":*", "**"):
        return Content("all", "", ())
    for sign in (":*", " *"):
        if text.endswith(sign) and not _STAR.search(text[: -len(sign)]):
            return _plain("prefix", text[: -len(sign)].strip())
    if _STAR.search(text):
        return Content("pattern", text, tuple(text.split(" ")))
    return _plain("exact", content.strip() if content else "")


def _plain(kind: Kind, text: str) -> Content:
    script = read_script(text)
    shown = _BLANKS.sub(" ", text)
    plain = not script.doubts and len(script.commands) == 1 and not script.commands[0].redirects
    if not plain:
        return Content(kind, shown, tuple(shown.split(" ")), readable=False)
    command = script.commands[0]
    variables = tuple((item.name, item.value.text) for item in command.assignments)
    return Content(kind, shown, _texts(command.words), variables)


def _texts(words: tuple[Word, ...]) -> tuple[str, ...]:
    return tuple(word.text if word.known and not word.globs else word.source for word in words)


def _base(name: str) -> str:
    return name.rpartition("/")[2].casefold()


def _same_program(rule: str, word: Word) -> Match:
    if not word.fixed:
        return "perhaps"
    return "yes" if word.text == rule or _base(word.text) == _base(rule) else ""


def _compare_exactly(rule: tuple[str, ...], words: tuple[Word, ...]) -> Match:
    program = _same_program(rule[0], words[0])
    if not program:
        return ""
    rest = words[1:]
    if any(word.splits or word.globs for word in words):
        return "perhaps"
    if len(rest) != len(rule) - 1:
        return ""
    if _texts(rest) == rule[1:]:
        return program
    open_words = all(not word.fixed or word.text == text for word, text in zip(rest, rule[1:], strict=True))
    return "perhaps" if open_words else ""


def _compare_beginning(rule: tuple[str, ...], words: tuple[Word, ...]) -> Match:
    """Program, then the rule's plain words in order, and its options anywhere."""
    program = _same_program(rule[0], words[0])
    if not program:
        return ""
    if len(rule) == 1:
        return program
    plain = [text for text in rule[1:] if not text.startswith("-") or text == "-"]
    names = SAME_OPTIONS.get(_base(rule[0]), {})
    options = [names.get(flag, flag) for text in rule[1:] if text not in plain for flag in _flags(text)]
    ordered = _compare_plain(plain, words[1:])
    given = {names.get(flag, flag) for word in words[1:] for flag in _flags(word.text)}
    if not ordered:
        return ""
    if all(option in given for option in options):
        return "yes" if program == ordered == "yes" else "perhaps"
    open_options = any(word.may_be_option for word in words[1:]) or any(
        _abbreviates(option, given, names) for option in options
    )
    return "perhaps" if open_options else ""


def _compare_plain(plain: list[str], words: tuple[Word, ...]) -> Match:
    """The rule's plain words must be the first plain words of the command, or the first words after the options."""
    mine = [word for word in words if not word.text.startswith("-") or word.text == "-"]
    if [word.text for word in mine[: len(plain)]] == plain:
        return "yes"
    for text, word in zip(plain, mine, strict=False):
        if word.text != text and not word.fixed:
            return "perhaps"
        if word.text != text:
            break
    return "perhaps" if plain and _in_order(plain, mine) else ""


def _in_order(plain: list[str], words: list[Word]) -> bool:
    """Do they all come, in this order, one right after another? Then values of options may precede them."""
    texts = [word.text for word in words]
    return any(texts[at : at + len(plain)] == plain for at in range(min(len(texts), 20)))


def _flags(text: str) -> list[str]:
    """`-rf` → `-r`, `-f`; `--force=x` → `--force`; nothing for a plain word."""
    if not text.startswith("-") or text in ("-", "--"):
        return []
    if text.startswith("--"):
        return [text, text.partition("=")[0]] if "=" in text else [text]
    return [f"-{letter}" for letter in text[1:]] if text[1:].isalpha() else [text]


def _abbreviates(option: str, given: set[str], names: dict[str, str]) -> bool:
    """Whether a long option that was given could be short for this one, in any of its spellings."""
    spellings = [option, *(name for name, same in names.items() if same == option)]
    return any(
        flag != name and name.startswith(flag)
        for flag in given
        if flag.startswith("--") and len(flag) > 2
        for name in spellings
    )


def _spelled_out(pattern: tuple[str, ...], words: tuple[Word, ...]) -> int:
    """Match a pattern word by word. A star alone is any number of words; one at the very end is the rest too."""
    if not words or not words[0].fixed:
        return 0
    if pattern[-1].endswith("*") and pattern[-1] != "*" and not pattern[-1].endswith("\\*"):
        pattern = (*pattern, "*")
    at = part = 0
    back: tuple[int, int] | None = None
    while at < len(words):
        if part < len(pattern) and pattern[part] == "*":
            back, part = (part, at), part + 1
        elif part < len(pattern) and _fits(pattern[part], words[at]):
            at, part = at + 1, part + 1
        elif back is not None:
            back = (back[0], back[1] + 1)
            part, at = back[0] + 1, back[1]
        else:
            return 0
    done = all(rest == "*" for rest in pattern[part:])
    return max(1, _leading(pattern, words)) if done else 0


def _fits(pattern: str, word: Word) -> bool:
    """A word of files' names may become any name with its beginning, so the pattern must be content with that."""
    if word.globs:
        sure = re.split(r"[*?\[]", word.text, maxsplit=1)[0]
        return pattern.endswith("*") and _STAR.split(pattern)[1:] == [""] and sure.startswith(pattern[:-1])
    return word.fixed and bool(_word_expression(pattern).fullmatch(word.text))


def _leading(pattern: tuple[str, ...], words: tuple[Word, ...]) -> int:
    """How many words at the beginning the pattern spells out."""
    count = 0
    for text, word in zip(pattern, words, strict=False):
        if "*" in text or text != word.text:
            break
        count += 1
    return count


@lru_cache(maxsize=2048)
def _word_expression(text: str) -> re.Pattern[str]:
    return re.compile(_starred(text), re.DOTALL)


@lru_cache(maxsize=2048)
def _expression(text: str) -> re.Pattern[str]:
    """A pattern over a whole command; ` *` at the end also means nothing at all."""
    return re.compile(_starred(text[:-2]) + "(?: .*)?" if text.endswith(" *") else _starred(text), re.DOTALL)


def _starred(text: str) -> str:
    """An expression without backtracking over the match of a star, so that its work grows with the length."""
    first, *others = (re.escape(part.replace("\\*", "*")) for part in _STAR.split(text))
    if not others:
        return first
    return first + "".join(f"(?>.*?{part})" for part in others[:-1] if part) + ".*" + others[-1]


def mentions(content: Content, text: str) -> bool:
    """Does a text that cannot be read as a command seem to contain what the content means? Errs towards yes."""
    if content.matches_text(text):
        return True
    for piece in _PIECES.split(_UNQUOTED.sub("", text)):
        words = list(dropwhile(_BEFORE.fullmatch, piece.split()))
        if words and content.matches_text(" ".join([_base(words[0]), *words[1:]])):
            return True
    return False
