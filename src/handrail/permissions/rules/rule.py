"""Parses permission rules such as `Bash(git push:*)`, and keeps their source.

A rule names a tool and, in brackets, a content. An unreadable rule is kept: an unreadable allow rule grants nothing,
and an unreadable deny or ask rule covers everything it could have meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, Literal

from msgspec import Struct

from handrail.errors import CallerError

__all__ = [
    "LONGEST_RULE",
    "Behavior",
    "Rule",
    "RuleError",
    "Scope",
    "SourcedRule",
    "parse_rule",
    "read_rules",
    "split_rules",
]

Behavior = Literal["allow", "deny", "ask"]
Scope = Literal[
    "session",
    "cliArg",
    "command",
    "localSettings",
    "projectSettings",
    "userSettings",
    "policySettings",
    "flagSettings",
]

LONGEST_RULE: Final = 20_000
# Patterns as text are compiled when they are first used; many starts of the agent read no rule.
_TOOL: Final = r"[A-Za-z_][A-Za-z0-9_.-]*(?:\*)?|\*"
_LEGIBLE: Final = r"\s*([A-Za-z_][A-Za-z0-9_.-]*)"
_ESCAPED: Final = r"\\([\\()])"
_NEEDS_ESCAPES: Final = r"\\[\\()]|\\\Z"
_UNSEEN: Final = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"


class Rule(Struct, frozen=True, order=True):
    """A tool, and what of it; without content, all of it. `str(rule)` writes it so that it reads back the same."""

    tool: str
    content: str | None = None

    def __str__(self) -> str:
        if self.content is None:
            return self.tool
        escaped = self.content.replace("\\", "\\\\") if re.search(_NEEDS_ESCAPES, self.content) else self.content
        return f"{self.tool}({escaped})"


class RuleError(CallerError, ValueError):
    """An invalid rule: what is wrong, and at which character, counted from 0."""

    def __init__(self, problem: str, position: int) -> None:
        super().__init__(f"{problem} (at character {position + 1})")
        self.problem = problem
        self.position = position


class SourcedRule(Struct, frozen=True):
    """A rule, what it says, and where it says so.

    `broken` tells why its text could not be read; the rule then holds what of it is legible: its tool, or `*` for any,
    and its content as a beginning.
    """

    rule: Rule
    behavior: Behavior
    scope: Scope = "session"
    source: str = ""
    line: int = 0
    broken: str = ""


@lru_cache(maxsize=4096)
def parse_rule(text: str) -> Rule:
    """Read one rule: `Tool` or `Tool(content)`; `\\(`, `\\)` and `\\\\` stand for the signs themselves."""
    stripped = text.strip()
    indent = len(text) - len(text.lstrip())
    if not stripped:
        raise RuleError("the rule is empty", 0)
    if len(text) > LONGEST_RULE:
        raise RuleError(f"the rule is longer than {LONGEST_RULE} characters", LONGEST_RULE)
    if found := re.search(_UNSEEN, text):
        raise RuleError("the rule contains a character that cannot be seen", found.start())
    tool, bracket, rest = stripped.partition("(")
    _check_tool(tool, indent)
    if not bracket:
        return Rule(tool)
    return Rule(tool, _content(rest, indent + len(tool) + 1))


def _check_tool(tool: str, position: int) -> None:
    if not tool:
        raise RuleError("the tool before the bracket is missing", position)
    if re.fullmatch(_TOOL, tool):
        return
    legible = re.match(_TOOL, tool)
    raise RuleError("a tool's name has letters, digits, _ . and - only", position + (legible.end() if legible else 0))


def _content(rest: str, position: int) -> str:
    """The text between the first bracket and the last, unescaped."""
    end = len(rest) - 1
    if not rest.endswith(")") or _backslashes_before(rest, end) % 2:
        raise RuleError("the closing bracket is missing", position + len(rest))
    if not rest[:end].strip():
        raise RuleError("there is nothing between the brackets; for the whole tool write its name alone", position)
    return re.sub(_ESCAPED, r"\1", rest[:end])


def _backslashes_before(text: str, end: int) -> int:
    return end - len(text[:end].rstrip("\\"))


def read_rules(
    texts: Sequence[str], behavior: Behavior, scope: Scope, source: str = "", lines: Sequence[int] = ()
) -> list[SourcedRule]:
    """Read the rules of one place, with their lines if known. Broken rules are kept."""
    return [
        _read(text, behavior, scope, source, lines[index] if index < len(lines) else 0)
        for index, text in enumerate(texts)
    ]


def _read(text: str, behavior: Behavior, scope: Scope, source: str, line: int) -> SourcedRule:
    try:
        return SourcedRule(parse_rule(text), behavior, scope, source, line)
    except RuleError as error:
        problem = f"{_shortened(text)!r} is not a valid rule: {error}"
        return SourcedRule(_legible(text), behavior, scope, source, line, problem)


def _legible(text: str) -> Rule:
    """What of a broken text can still be read: a tool, else any; a content, cut where it stops being clear."""
    named = re.match(_LEGIBLE, text)
    if named is None:
        return Rule("*")
    _, bracket, rest = text.partition("(")
    content = rest.rstrip(")\\ ").lstrip()
    return Rule(named[1], content[:LONGEST_RULE]) if bracket and content else Rule(named[1])


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"


def split_rules(text: str) -> list[str]:
    """Rules in one text, as on a command line: parted by commas or blanks, but not those within brackets."""
    return [part for part in _parts(text) if part]


def _parts(text: str) -> Iterator[str]:
    start = depth = 0
    escaped = False
    for index, sign in enumerate(text):
        if escaped:
            escaped = False
        elif sign == "\\":
            escaped = True
        elif sign in "()":
            depth = max(0, depth + (1 if sign == "(" else -1))
        elif depth == 0 and (sign == "," or sign.isspace()):
            yield text[start:index]
            start = index + 1
    yield text[start:]
